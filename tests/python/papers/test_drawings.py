"""The drawings of the papers' mechanisms are right."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

from bayespoint import InfeasibleError, VersionSpace
from bayespoint.papers import drawings
from bayespoint.papers.__main__ import main
from bayespoint.papers.displays import sphere
from bayespoint.papers.drawings import flights, scenes
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.planar import Polygon

figure = pytest.importorskip("matplotlib.figure")

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))
POINTS, LABELS = scenes.POINTS, scenes.LABELS


@pytest.fixture
def ax():
    return figure.Figure().add_subplot()


def problem(index, m=9):
    """Planes in three dimensions around a version space that is well inside a half-sphere."""
    rng = np.random.default_rng([SEED, index])
    x = np.vstack([rng.standard_normal((m, 3)), np.eye(3) + 0.3])
    return x, np.where(x @ [1.0, 0.9, 1.1] > 0, 1, -1)


def one_label(index, label):
    """The same planes, with all examples of one label."""
    x, y = problem(index)
    return x * (label * y)[:, None], np.full(len(y), label)


@pytest.fixture(scope="module")
def path():
    return drawings.fly(*problem(0), random_state=SEED)


def lines(ax):
    return {line.get_label(): np.array(line.get_xydata()) for line in ax.lines}


def arrows(ax):
    """Tails and tips, in the order drawn."""
    return [(np.array(t.xyann), np.array(t.xy)) for t in ax.texts if getattr(t, "arrow_patch", 0)]


def names(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


# --- flights ---


@pytest.mark.parametrize("transparency", [0.0, 0.5])
def test_flights_are_those_of_the_engine(transparency):
    x, y = problem(1)
    found = drawings.fly(x, y, length=30.0, transparency=transparency, random_state=SEED)
    assert len(found.legs) > 5
    for leg in found.legs:
        normal = x[leg.wall]
        assert np.linalg.norm(leg.start) == pytest.approx(1.0)
        assert leg.start @ leg.direction == pytest.approx(0.0, abs=1e-9)
        assert leg.end @ normal == pytest.approx(0.0, abs=1e-9)
        # No other plane on the way.
        inside = leg.at(np.linspace(0.01, 0.99, 50) * leg.arc) @ x.T
        assert (np.sign(inside) == np.sign(inside[0])).all()
        assert leg.satisfied == (y[leg.wall] * (leg.at(0.5 * leg.arc) @ normal) > 0)
        assert leg.satisfied or leg.passed
    for leg, after in zip(found.legs[:-1], found.legs[1:], strict=True):
        np.testing.assert_allclose(after.start, leg.end)
        change = after.direction - leg.arrival
        if leg.passed:
            np.testing.assert_allclose(change, 0.0, atol=1e-12)
        else:
            normal = x[leg.wall]
            assert after.direction @ normal == pytest.approx(-(leg.arrival @ normal))
            np.testing.assert_allclose(np.cross(change, normal), 0.0, atol=1e-9)
    passed = [leg.passed for leg in found.legs]
    assert any(passed) == (transparency > 0)
    assert not all(passed)
    # The engine counts the same events, except for the last, incomplete flight.
    counted = int(found.run.bounces.sum() + found.run.crossings.sum())
    assert abs(len(found.legs) - counted) <= 2
    # The draws lie on them.
    draws = found.run.draws[0] @ x
    arcs = np.cumsum([0.0] + [leg.arc for leg in found.legs])
    first = int(np.abs(draws - found.legs[0].start).sum(axis=1).argmin())
    times = (np.arange(first, len(draws)) - first) * found.run.length / len(draws)
    for draw, time in list(zip(draws[first:], times, strict=True))[::97]:
        if time < arcs[-1]:
            k = int(np.searchsorted(arcs, time, side="right")) - 1
            np.testing.assert_allclose(found.legs[k].at(time - arcs[k]), draw, atol=1e-7)


@pytest.mark.parametrize("width", [0.01, 0.003])
def test_a_transparent_corner_between_two_draws(width):
    """Through one wall, off the other and back before the next draw looks like a reflection."""
    x = np.array([
        [1.0, 0.0, 0.0],
        [-np.cos(width), np.sin(width), 0.0],
        [np.cos(2 * width), -np.sin(2 * width), 0.1],
        [0.0, 0.2, 1.0],
        [0.0, 0.3, -1.0],
    ])  # fmt: skip
    for seed in range(40):
        found = drawings.fly(x, [1] * 5, length=30.0, transparency=0.5, random_state=seed)
        counted = int(found.run.bounces.sum() + found.run.crossings.sum())
        assert abs(len(found.legs) - counted) <= 2


def test_draws_off_the_path_are_noticed(path):
    draws = path.run.draws[0] @ path.X
    spacing = path.run.length / len(draws)
    assert len(flights._legs(path.X, path.y, draws, spacing)) == len(path.legs)
    turned = draws.copy()
    turned[len(draws) // 2 :] = -turned[len(draws) // 2 :]
    with pytest.raises(RuntimeError, match="not on a path of great circles and reflections"):
        flights._legs(path.X, path.y, turned, spacing)
    with pytest.raises(RuntimeError, match=r"not on a path|no flight is longer"):
        flights._legs(path.X, path.y, draws, 1.1 * spacing)


def test_bad_flights():
    with pytest.raises(ValueError, match=r"X must have shape \(m, d\); got shape \(3,\)"):
        drawings.fly([1.0, 2.0, 3.0], [1, 1, -1])
    with pytest.raises(ValueError, match="length must be a finite number in"):
        drawings.fly(*problem(1), length=0.0)
    with pytest.raises(InfeasibleError):
        drawings.fly([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1])


# --- Ruján and Marchand ---


def test_connector(ax):
    drawings.plot_connector(POINTS, LABELS, ax=ax)
    model = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free").fit(POINTS, LABELS)
    drawn = lines(ax)
    [label] = [name for name in drawn if name.startswith("connector")]
    first, second = drawn[label]
    assert np.linalg.norm(first - second) == pytest.approx(model.connector_[0])
    # Its ends are on the two lines of the gap, which are at a right angle to it.
    assert model.decision_function([first, second]) == pytest.approx([-1.0, 1.0])
    for line in (line for line in ax.lines if hasattr(line, "get_xy1")):  # matplotlib >= 3.9
        value = float(line.get_label().removeprefix("_f = "))
        on_line = [line.get_xy1(), line.get_xy2()]
        assert model.decision_function(on_line) == pytest.approx([value, value], abs=1e-9)
    np.testing.assert_array_equal(drawn["negative"], POINTS[:4])
    np.testing.assert_array_equal(drawn["positive"], POINTS[4:])
    assert names(ax) == ["A", "B", "C"]
    marked = [drawn[f"_{name}"][0] for name in "ABC"]
    np.testing.assert_array_equal(marked, POINTS[model.support_])
    with pytest.raises(ValueError, match="three examples not on a line"):
        drawings.plot_connector(POINTS[[0, 1, 4, 5, 6]], LABELS[[0, 1, 4, 5, 6]], ax=ax)
    with pytest.raises(ValueError, match=r"X must have shape \(m, 2\); got shape \(8, 1\)"):
        drawings.plot_connector(POINTS[:, :1], LABELS, ax=ax)
    with pytest.raises(ValueError, match="y must hold two classes; got 1"):
        drawings.plot_connector(POINTS, np.ones(8), ax=ax)


def test_cone():
    ax = figure.Figure().add_subplot(projection="3d")
    x = POINTS - POINTS.mean(axis=0)
    drawings.plot_cone(x, LABELS, ax=ax)
    normals = np.column_stack([x, np.ones(8)]) * LABELS[:, None]
    drawn = [(line.get_label(), np.array(line.get_data_3d()).T) for line in ax.lines]
    edges = [data for name, data in drawn if name == "_edge"]
    arcs = [data for name, data in drawn if name == "_arc"]
    assert len(edges) == len(arcs) >= 3
    for start, tip in edges:
        assert not start.any()
        corner = tip / np.linalg.norm(tip)
        height = np.sort(normals @ corner)
        np.testing.assert_allclose(height[:2], 0.0, atol=1e-9)  # two planes meet there
        assert (height[2:] > -1e-9).all()
    for arc in arcs:
        np.testing.assert_allclose(np.linalg.norm(arc, axis=1), 1.0)
        height = arc @ normals.T
        assert np.abs(height).max(axis=0).min() < 1e-9  # all of it is in one plane
        assert height.min() > -1e-9
    [ray] = [data for name, data in drawn if name == "maximal margin"]
    space = VersionSpace(x @ x.T, LABELS, offset=1.0)
    letters = {text.get_text(): np.array(text.get_position_3d()) for text in ax.texts}
    for letter, row in zip("ABC", space.max_margin().support, strict=True):
        assert letters[letter] @ normals[row] == pytest.approx(0.0, abs=1e-9)
    direction = ray[1] / np.linalg.norm(ray[1])
    assert (normals @ direction).min() == pytest.approx(space.max_margin().margin)


def test_bounce(ax):
    table = Polygon([[0, 0], [4, 0], [4, 2], [0, 2]])
    drawings.plot_bounce(table, start=[1.0, 1.5], angle=-math.pi / 4, ax=ax)
    drawn = lines(ax)
    time = 1.5 * math.sqrt(2)
    np.testing.assert_allclose(drawn[f"flight, τ = {time:.3f}"], [[1.0, 1.5], [2.5, 0.0]])
    np.testing.assert_allclose(drawn["d⊥ = 1.500, V⊥ = -0.707"], [[1.0, 1.5], [1.0, 0.0]])
    v, across, after, normal = (tip - tail for tail, tip in arrows(ax))
    np.testing.assert_allclose(after, v * [1, -1])
    np.testing.assert_allclose(across, v * [0, 1], atol=1e-12)
    np.testing.assert_allclose(normal / np.linalg.norm(normal), [0, 1], atol=1e-12)
    assert [name for name in names(ax) if name.startswith("W")] == ["W", "W'"]
    with pytest.raises(ValueError, match="must not lead into a corner"):
        drawings.plot_bounce(table, start=[2.0, 1.0], angle=math.atan2(1, 2), ax=ax)


@pytest.mark.parametrize("weights", [(1.0, 2.0), (3.0, 0.5), (0.0, 1.0)])
def test_arc_sum(ax, weights):
    drawings.plot_arc_sum(1.1, weights, ax=ax)
    a, b, c = (tip for _, tip in arrows(ax))
    turn = [math.atan2(y, x) for x, y in (a, b, c)]
    assert turn == pytest.approx([0.0, 1.1, 1.1 * weights[1] / sum(weights)])
    assert np.linalg.norm([a, b, c], axis=1) == pytest.approx(1.0)
    assert f"c, ρ = {sum(weights):g}" in names(ax)


@pytest.mark.parametrize("label", [-1, 1])
def test_half_mirror(ax, label):
    mixed = drawings.fly(*one_label(2, label), length=80.0, transparency=0.5, random_state=SEED)
    drawings.plot_half_mirror(mixed, ax=ax)
    came, went, below, through = (tip - tail for tail, tip in arrows(ax))
    assert came[1] < 0 < went[1]  # from above, and up again
    assert came[0] == pytest.approx(went[0])
    assert came[1] == pytest.approx(-went[1])
    assert below[1] > 0
    np.testing.assert_allclose(through, below)
    np.testing.assert_allclose(np.linalg.norm([came, below], axis=1), 1.0)


def test_a_half_mirror_needs_both_ways(path):
    with pytest.raises(ValueError, match="reflected from above and let through from below"):
        drawings.plot_half_mirror(path)


def test_projected_flight(ax, path):
    drawings.plot_projected_flight(path, 3, max_errors=2, ax=ax)
    leg = path.legs[3]
    signed = path.X * path.y[:, None]
    drawn = lines(ax)
    crossings = drawn["_crossings"]
    assert 1 <= len(crossings) <= 3
    np.testing.assert_allclose(drawn["continued"][1:], crossings)
    np.testing.assert_allclose(drawn["flight"][1], crossings[0], atol=1e-9)
    assert names(ax) == [str(k + 1) for k in range(len(crossings))]
    # On the sphere: on the flight's great circle and a plane, with this many errors beyond.
    margin = path.space.max_margin().dual_coef @ path.X
    frame = np.stack(sphere.chart(margin))
    axis = np.cross(leg.start, leg.direction)
    for errors, place in enumerate(crossings, start=1):
        point = place @ frame + margin
        point /= np.linalg.norm(point)
        assert point @ axis == pytest.approx(0.0, abs=1e-9)
        assert np.abs(signed @ point).min() < 1e-9
        onward = point + 1e-6 * np.cross(axis, point)
        assert (signed @ onward < 0).sum() == errors
    [inside] = ax.patches
    corners = inside.get_xy()[:-1] @ frame + margin
    assert (corners @ signed.T > -1e-9).all()
    with pytest.raises(ValueError, match="max_errors must be an integer of at least 1; got 0"):
        drawings.plot_projected_flight(path, max_errors=0)
    with pytest.raises(ValueError, match="leg must be below the number of flights"):
        drawings.plot_projected_flight(path, 10_000)


# --- Herbrich, Graepel and Campbell ---


def test_version_space(ax):
    x, y = problem(0)
    drawings.plot_version_space(x, y, n_balls=3, length=10.0, random_state=SEED, ax=ax)
    drawn = lines(ax)
    [cross] = drawn["center of the largest ball"]
    np.testing.assert_allclose(cross, 0.0, atol=1e-12)  # the chart's center
    space = VersionSpace(x @ x.T, y)
    normals = x / np.linalg.norm(x, axis=1, keepdims=True)
    margin = VersionSpace(normals @ normals.T, y).max_margin().dual_coef @ normals
    frame = np.stack(sphere.chart(margin))
    signed = x * y[:, None]
    [label] = [name for name in drawn if name.endswith(" bounces")]
    bounces = drawn[label] @ frame + margin
    assert len(bounces) == int(label.split()[0]) > 20
    heights = bounces @ signed.T
    np.testing.assert_allclose(heights.min(axis=1), 0.0, atol=1e-9)  # all on a wall
    center = drawn["Bayes point"][0] @ frame + margin
    center /= np.linalg.norm(center)
    other = space.sample(tol=0.01, random_state=SEED + 1).center @ x
    assert np.linalg.norm(center - other) < 0.05
    [outline] = ax.patches
    corners = outline.get_xy()[:-1] @ frame + margin
    np.testing.assert_allclose(np.sort(corners @ signed.T, axis=1)[:, :2], 0.0, atol=1e-9)
    with pytest.raises(ValueError, match="path must be in three dimensions; got 2"):
        drawings.plot_version_space(np.eye(2), [1, 1], n_balls=1, ax=ax)
    with pytest.raises(ValueError, match="n_balls must be an integer of at least 1; got 0"):
        drawings.plot_version_space(x, y, n_balls=0, ax=ax)
    with pytest.raises(TypeError, match="path must be a Path; got a ndarray"):
        drawings.plot_projected_flight(np.eye(3), ax=ax)


@pytest.mark.parametrize("label", [-1, 1])
def test_flight(ax, label):
    path = drawings.fly(*one_label(0, label), random_state=SEED)
    number = next(k for k, leg in enumerate(path.legs) if 0.1 < leg.arc < 1.3)
    leg = path.legs[number]
    drawings.plot_flight(path, number, ax=ax)
    normal = path.X[leg.wall]
    time = -(normal @ leg.start) / (normal @ leg.direction)
    drawn = lines(ax)
    np.testing.assert_allclose(drawn[f"τ = {time:.3f}"], [[1, 0], [1, time]])
    for name in ("_b + τv", "_b'"):
        place = drawn[name][0]  # in the plane of b and v
        where = place[0] * leg.start + place[1] * leg.direction
        assert where @ normal == pytest.approx(0.0, abs=1e-9)
    assert np.linalg.norm(drawn["_b'"]) == pytest.approx(1.0)
    tail, tip = arrows(ax)[1]
    assert (tip - tail) @ drawn["_b'"][0] == pytest.approx(0.0, abs=1e-9)  # a normal of the plane
    assert (tip - tail) @ drawn["_b"][0] > 0  # and of the side where b is


def test_a_straight_flight_misses_a_plane_too_far():
    wide = drawings.fly([[1.0, 0.0], [-0.9, 0.5]], [1, 1], random_state=SEED)
    wedge = drawings.fly([[1.0, 0.0], [0.95, 0.05]], [1, 1], random_state=SEED)
    assert all(leg.arc < math.pi / 2 for leg in wide.legs[1:])
    assert all(leg.arc > math.pi / 2 for leg in wedge.legs[1:])
    with pytest.raises(ValueError, match=r"leg must be a flight of less than pi / 2; got one of"):
        drawings.plot_flight(wedge, 1)


def test_chord_and_arc(ax, path):
    drawings.plot_chord_and_arc(path, 2, ax=ax)
    drawn = lines(ax)
    [arc] = [name for name in drawn if name.startswith("arc")]
    [chord] = [name for name in drawn if name.startswith("chord")]
    steps = np.linalg.norm(np.diff(drawn[arc], axis=0), axis=1)
    assert steps.sum() == pytest.approx(path.legs[2].arc, rel=1e-3)
    across = float(np.linalg.norm(np.diff(drawn[chord], axis=0)))
    # The relation below the paper's Figure 8.
    assert path.legs[2].arc == pytest.approx(math.acos(1 - across**2 / 2))
    assert (arc, chord) == (f"arc {path.legs[2].arc:.3f}", f"chord {across:.3f}")


@pytest.mark.parametrize("label", [-1, 1])
def test_reflection(label):
    path = drawings.fly(*one_label(0, label), random_state=SEED)
    number = next(
        k
        for k, leg in enumerate(path.legs)
        if 0.2 < abs(leg.arrival @ path.X[leg.wall]) / np.linalg.norm(path.X[leg.wall]) < 0.95
    )
    axes = figure.Figure().subplots(1, 2)
    drawings.plot_reflection(path, number, axes=axes)
    v, after, normal = (tip - tail for tail, tip in arrows(axes[0]))
    np.testing.assert_allclose(np.linalg.norm([v, after], axis=1), 1.0)
    np.testing.assert_allclose(after, v - 2 * (v @ normal) * normal / (normal @ normal))
    assert v[1] < 0 < after[1]
    leg = path.legs[number]
    cosine = path.y[leg.wall] * (leg.arrival @ path.X[leg.wall])
    assert v[1] == pytest.approx(cosine / np.linalg.norm(path.X[leg.wall]))
    first, second, change = arrows(axes[1])
    np.testing.assert_allclose(change[0], first[1])
    np.testing.assert_allclose(change[1], second[1])
    assert change[1][0] - change[0][0] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match="axes must be two; got 1"):
        drawings.plot_reflection(path, number, axes=[axes[0]])
    with pytest.raises(ValueError, match="leg must be below the number of flights"):
        drawings.plot_reflection(path, len(path.legs) - 1)
    mixed = drawings.fly(*problem(2), length=80.0, transparency=0.5, random_state=SEED)
    through = next(k for k, leg in enumerate(mixed.legs) if leg.passed)
    with pytest.raises(ValueError, match="leg must end with a reflection"):
        drawings.plot_reflection(mixed, through)


def test_point_mirror(ax):
    """Points of a plane, turned by half a turn around w', are on the mirrored plane."""
    x, w = np.array([[1.0, 0.3], [0.2, 1.0], [0.5, 0.5]]), np.array([1.2, 1.6])
    drawings.plot_point_mirror(x, [1, 1, 1], w, example=1, ax=ax)
    (_, normal), (_, mirrored), (_, unit) = arrows(ax)
    np.testing.assert_allclose(unit, [0.6, 0.8])
    np.testing.assert_allclose(normal / np.linalg.norm(normal), x[1] / np.linalg.norm(x[1]))
    point = np.array([-normal[1], normal[0]])
    image = 2 * (unit @ point) * unit - point
    assert image @ mirrored == pytest.approx(0.0, abs=1e-9)
    assert mirrored @ unit == pytest.approx(normal @ unit)
    with pytest.raises(ValueError, match="example must be below 3; got 3"):
        drawings.plot_point_mirror(x, [1, 1, 1], w, example=3, ax=ax)
    with pytest.raises(ValueError, match="X must span two dimensions"):
        drawings.plot_point_mirror(x[:1], [1], w, ax=ax)
    with pytest.raises(ValueError, match="w must have shape"):
        drawings.plot_point_mirror(x, [1, 1, 1], [1.0, 2.0, 3.0], ax=ax)
    with pytest.raises(ValueError, match="version space"):
        drawings.plot_point_mirror(x, [1, 1, 1], -w, ax=ax)


# --- the page ---


def test_command(tmp_path, capsys):
    main(["drawings", "--out", str(tmp_path), "arc_sum", "cone"])
    written = sorted(file.name for file in (tmp_path / "drawings").iterdir())
    assert written == ["arc_sum.png", "cone.png"]
    for file in (tmp_path / "drawings").iterdir():
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size < 100_000
    assert not (tmp_path / "drawings.md").exists()
    assert "arc_sum.png" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["drawings", "--out", str(tmp_path), "mona_lisa"])
    assert "no picture named mona_lisa" in capsys.readouterr().err


def test_page():
    """The page in the repository is the one that the code writes, with its pictures."""
    text = scenes.page()
    for name in scenes.SCENES:
        assert f"(drawings/{name}.png)" in text
    for number in [f"18.{k}" for k in range(1, 11)] + ["3", "4", "7", "8", "9", "10"]:
        assert f"\n### Figure {number}" in text
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings == ["Ruján and Marchand", "Herbrich, Graepel and Campbell"]
    docs = Path(__file__).parents[3] / "docs"
    assert (docs / "drawings.md").read_text(encoding="utf-8") == text
    pictures = {file.name: file.stat().st_size for file in (docs / "drawings").glob("*.png")}
    assert set(pictures) == {f"{name}.png" for name in scenes.SCENES}
    assert max(pictures.values()) < 100_000


@pytest.mark.filterwarnings("ignore:More than 20 figures")
def test_the_commands_of_the_page_work():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    head, *blocks = re.findall(r"```python\n(.*?)```", scenes.page(), flags=re.DOTALL)
    assert len(blocks) == len(scenes.SCENES)
    names = {}
    exec(head, names)
    try:
        for block in blocks:
            found = dict(names)
            exec(block, found)
            assert isinstance(found["figure"], figure.Figure)
            assert found["figure"].axes
    finally:
        pyplot.close("all")


@pytest.mark.parametrize("name", ["bounce", "reflection", "point_mirror", "half_mirror", "flight"])
def test_names_are_neither_on_arrows_nor_on_each_other(name):
    figure = scenes.SCENES[name]()
    figure.canvas.draw()
    for ax in figure.axes:
        names = [text for text in ax.texts if text.get_text()]
        boxes = [text.get_window_extent() for text in names]
        assert len(boxes) >= 3
        for k, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:k]), names[k].get_text()
        arrows = [text for text in ax.texts if text.arrow_patch is not None]
        assert arrows
        for arrow in arrows:
            tail, tip = ax.transData.transform([arrow.xyann, arrow.xy])
            along = tail + np.linspace(0, 1, 101)[:, None] * (tip - tail)
            for box, text in zip(boxes, names, strict=True):
                inside = ((along > box.min) & (along < box.max)).all(axis=1)
                assert not inside.any(), text.get_text()
