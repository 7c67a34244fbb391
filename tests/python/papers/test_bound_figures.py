"""The pictures show the bounds at the places they claim."""

import sys

import numpy as np
import pytest

from bayespoint import VersionSpace, bounds
from bayespoint.papers.bound_figures import (
    plot_margin_bounds,
    plot_margin_histogram,
    plot_volume_bounds,
)
from helpers import seed

matplotlib_figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def axes():
    return matplotlib_figure.Figure().subplots(1, 2)


def curves(ax):
    """Lines with data, by style."""
    styles = {"-": [], "--": [], ":": []}
    for line in ax.get_lines():
        if len(line.get_xdata()) > 2:
            styles[line.get_linestyle()].append(line)
    return styles


def named(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_figure_1(axes):
    left, right = plot_volume_bounds(omegas=(1.0, 0.01), sizes=(100, 1000), delta=0.1, axes=axes)
    solid, dashed = (curves(left)[style] for style in ("-", "--"))
    assert len(solid) == len(dashed) == 2
    for omega, vote, draw in zip((1.0, 0.01), solid, dashed, strict=True):
        m = vote.get_xdata()
        log_volume = -np.log(omega) - m * np.log(2)
        assert log_volume.max() <= -np.log(2)
        np.testing.assert_allclose(vote.get_ydata(), bounds.volume_bayes(m, log_volume, 0.1))
        np.testing.assert_allclose(draw.get_ydata(), bounds.volume_gibbs(m, log_volume, 0.1))
    for size, vote in zip((100, 1000), curves(right)["-"], strict=True):
        x = vote.get_xdata()
        np.testing.assert_allclose(vote.get_ydata(), bounds.volume_bayes(size, -x, 0.1))
    assert named(left) == ["ω = 1", "ω = 0.01", "vote", "one draw"]
    assert named(right) == ["m = 100", "m = 1000", "vote", "one draw"]
    for ax in (left, right):
        assert 1.0 in [line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2]
        assert ax.get_ylabel() == "bound on the risk"


def test_figure_2(axes):
    left, right = plot_margin_bounds(sizes=(500, 5000), dimension=50, digits=(1000, 30), axes=axes)
    solid, dotted = (curves(left)[style] for style in ("-", ":"))
    for m, corollary, exact in zip((500, 5000), solid, dotted, strict=True):
        margin = corollary.get_xdata() ** -0.5
        np.testing.assert_allclose(corollary.get_ydata(), bounds.linear_svm(m, 50, margin))
        cap = bounds.cap_log_fraction(50, np.arcsin(margin))
        np.testing.assert_allclose(exact.get_ydata(), bounds.volume_bayes(m, cap))
        assert (exact.get_ydata() < corollary.get_ydata()).all()
    lucky, corollary = curves(right)["-"]
    margin = lucky.get_xdata() ** -0.5
    np.testing.assert_allclose(lucky.get_ydata(), bounds.luckiness(1000, margin))
    np.testing.assert_allclose(corollary.get_ydata(), bounds.linear_svm(1000, 30, margin))
    assert named(right) == ["Theorem 1", "Corollary 2", "exact volume"]
    assert right.get_xscale() == right.get_yscale() == "log"


def test_histogram_of_margins():
    x = np.random.default_rng(seed(0)).standard_normal((40, 3))
    space = VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1))
    c = space.feasible_point(random_state=seed(0))
    ax = matplotlib_figure.Figure().add_subplot()
    assert plot_margin_histogram(space, c, bins=8, label="point", ax=ax) is ax
    counts, edges = bounds.margin_histogram(space, c, bins=8)
    [outline] = ax.patches
    heights = outline.get_xy()
    assert heights[:, 1].max() == counts.max()
    assert heights[:, 0].min() == pytest.approx(edges[0])
    [line] = ax.get_lines()
    assert line.get_xdata()[0] == pytest.approx(bounds.normalized_margins(space, c).min())
    assert named(ax) == ["point"]


def test_new_figures_are_made_without_axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    space = VersionSpace(np.eye(3), [1, 1, -1])
    drawn = [
        plot_volume_bounds()[0],
        plot_margin_bounds()[1],
        plot_margin_histogram(space, [1.0, 1.0, -2.0]),
    ]
    try:
        for ax in drawn:
            assert ax.figure.number in pyplot.get_fignums()
    finally:
        for ax in drawn:
            pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda axes: plot_volume_bounds(omegas=[0.0], axes=axes), "omegas must be .* got 0"),
        (lambda axes: plot_volume_bounds(omegas=[2.0], axes=axes), r"omegas must be .* \(0, 1\]"),
        (lambda axes: plot_volume_bounds(sizes=[0], axes=axes), "sizes must be a whole number"),
        (lambda axes: plot_volume_bounds(delta=2.0, axes=axes), "delta must be"),
        (lambda axes: plot_volume_bounds(axes=axes[0]), "axes must be two Axes"),
        (lambda axes: plot_margin_bounds(dimension=0, axes=axes), "dimension must be an integer"),
        (lambda axes: plot_margin_bounds(digits=(10, 0), axes=axes), r"digits\[1\] must be"),
        (
            lambda axes: plot_margin_histogram(VersionSpace(np.eye(2), [1, -1]), [1, 1], bins=0),
            "bins must be an integer",
        ),
    ],
)
def test_bad_settings_are_named(axes, call, text):
    with pytest.raises(ValueError, match=text):
        call(axes)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (plot_volume_bounds, plot_margin_bounds):
        with pytest.raises(ImportError, match=r"pip install 'bayespoint\[plot\]'"):
            plot()
