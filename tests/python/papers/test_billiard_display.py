"""The picture of version space on the sphere: corners, frame, paths, animation."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, VersionSpace, datasets
from bayespoint.papers import elongated
from bayespoint.papers.displays import BilliardDisplay
from helpers import SHIFT as SEED

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")
Figure = pytest.importorskip("matplotlib.figure").Figure
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture
def space_ax():
    return Figure().add_subplot(projection="3d", computed_zorder=False)


@pytest.fixture(scope="module")
def cone():
    """Version space of three dimensions, its examples, and a run."""
    problem = elongated.make_elongated(random_state=3)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    return space, problem.data, space.sample(length=400.0, random_state=SEED)


def labels_of(ax):
    return ax.get_legend_handles_labels()[1]


def test_corners_are_where_planes_meet(cone, space_ax):
    space, _, run = cone
    display = BilliardDisplay.from_result(run, space, ax=space_ax)
    heights = display.corners @ display.normals.T
    assert heights.min() > -1e-9  # none is violated
    assert (np.sort(np.abs(heights), axis=1)[:, :2] < 1e-9).all()  # each lies on two planes
    np.testing.assert_allclose(np.linalg.norm(display.corners, axis=1), 1)
    np.testing.assert_allclose(display.centroid, [0, 0, 1], atol=1e-9)


def test_the_frame_keeps_angles(cone, space_ax):
    """Draws as points of the sphere have the margins that they have as dual coefficients."""
    space, _, run = cone
    display = BilliardDisplay.from_result(run, space, ax=space_ax)
    np.testing.assert_allclose(np.linalg.norm(display.paths, axis=2), 1)
    lengths = np.sqrt(space.gram.diagonal())
    np.testing.assert_allclose(
        display.paths @ display.normals.T, space.margins(run.draws) / lengths, atol=1e-9
    )
    np.testing.assert_allclose(
        display.normals @ display.center, space.margins(run.center) / lengths, atol=1e-9
    )


def test_lines_are_the_paths(cone, space_ax):
    space, _, _ = cone
    display = BilliardDisplay.from_space(
        space, length=6.0, n_trajectories=2, random_state=SEED, ax=space_ax
    )
    assert display.joined
    for line, path in zip(display.lines_, display.paths, strict=True):
        np.testing.assert_array_equal(np.transpose(line.get_data_3d()), path)
        assert line.get_linestyle() != "None"
    steps = np.linalg.norm(np.diff(display.paths, axis=1), axis=2)
    assert steps.max() <= display.spacing + 1e-9
    assert display.spacing * display.paths.shape[1] == pytest.approx(6.0)
    assert (display.paths @ display.normals.T > -1e-9).all()


def test_chart_makes_great_circles_straight(cone, ax):
    space, _, run = cone
    display = BilliardDisplay.from_result(run, space, view="chart", ax=ax)
    [outline] = [line for line in ax.lines if len(line.get_xdata()) == len(display.corners) + 1]
    flat = display.corners[:, :2] / display.corners[:, 2:]
    np.testing.assert_allclose(np.transpose(outline.get_data())[:-1], flat)
    assert not display.joined  # the draws of a long run are far from each other
    drawn = np.transpose(display.lines_[0].get_data())
    np.testing.assert_allclose(drawn, display.paths[0, :, :2] / display.paths[0, :, 2:])
    assert "draws" in labels_of(ax)


def test_estimator_of_two_features_with_an_intercept(space_ax):
    X = np.random.default_rng(SEED).normal(size=(20, 2))
    y = X @ [1.0, 0.5] > 0.1
    model = BayesPointClassifier("linear", softness=0.0, random_state=SEED)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    display = BilliardDisplay.from_estimator(pipeline, ax=space_ax)
    assert display.normals.shape == (20, 3)
    assert (display.center @ display.normals.T > 0).all()


@pytest.mark.parametrize("rank", [2, 4, 6])
def test_other_ranks_are_refused(rank, space_ax):
    X, y = datasets.make_teacher(12, rank, random_state=SEED)
    space = VersionSpace(X @ X.T, y)
    got = "4 or more" if rank > 3 else "2"
    with pytest.raises(ValueError, match=rf"space must have three dimensions.*got rank {got} for"):
        BilliardDisplay.from_space(space, ax=space_ax)


def test_invalid_arguments_of_a_billiard_display(cone, ax, space_ax):
    space, _, run = cone
    other = VersionSpace(np.eye(3), [1, 1, 1])
    for arguments, settings, text in (
        ((space, space), {}, "result must be a BilliardResult; got a VersionSpace"),
        ((run, space.gram), {}, "space must be a VersionSpace; got a ndarray"),
        ((run, other), {}, "space must be that of result"),
        ((run, space), {"view": "globe"}, "view must be one of 'sphere', 'chart'"),
        ((run, space), {"ax": ax}, "projection"),
        ((run, space), {"view": "chart"}, "ax must be plane for view='chart'"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            BilliardDisplay.from_result(*arguments, **{"ax": space_ax} | settings)
    with pytest.raises(ValueError, match="length must be at most"):
        BilliardDisplay.from_space(space, length=1e6, ax=space_ax)
    display = BilliardDisplay.from_result(run, space, view="chart", ax=ax)
    with pytest.raises(ValueError, match="n_frames must be at most the number of draws, 100"):
        display.animate(n_frames=101)
    display.animate(n_frames=3, view="chart").to_jshtml()


def test_a_version_space_without_corners_is_refused(space_ax):
    """Four examples, of which only two planes bound version space."""
    x = np.array([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [1.0, 0.05, 1e-3]])
    space = VersionSpace(x @ x.T, [1, 1, 1])
    with pytest.raises(
        ValueError, match="space must have a version space with three or more corners"
    ):
        BilliardDisplay.from_space(space, ax=space_ax)


def test_draws_in_more_dimensions_are_projected(ax):
    """Coordinates, variances and axes are those of the principal components, by a full SVD."""
    X, y = datasets.make_teacher(30, 6, random_state=SEED)
    space = VersionSpace(X @ X.T, y, softness=0.1)
    run = space.sample(tol=0.2, random_state=SEED)
    display = BilliardDisplay.from_result(run, space, ax=ax)
    values = run.draws @ space.gram  # decision values, without softness
    values /= np.linalg.norm(values, axis=2, keepdims=True)
    flat = (values - values.mean(axis=(0, 1))).reshape(-1, 30)
    left, sizes, _ = np.linalg.svd(flat, full_matrices=False)
    np.testing.assert_allclose(display.variance_ratio, sizes[:2] ** 2 / (sizes @ sizes))
    drawn = display.paths.reshape(-1, 2)
    np.testing.assert_allclose(np.abs(drawn), np.abs(left[:, :2] * sizes[:2]), atol=1e-9)
    for line, path in zip(display.lines_, display.paths, strict=True):
        np.testing.assert_array_equal(np.transpose(line.get_data()), path)
    assert f"{100 * display.variance_ratio[0]:.0f} % of the variance" in ax.get_xlabel()
    # The center is near the mean of the draws, and far from the edge.
    assert np.linalg.norm(display.center) < 0.5 * np.linalg.norm(drawn, axis=1).max()
    assert labels_of(ax) == ["draws of 4 trajectories", "center", "mean of each"]
