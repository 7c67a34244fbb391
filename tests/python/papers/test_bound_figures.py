"""The pictures of the bounds show the right values."""

import numpy as np
import pytest

from bayespoint.papers import bounds
from bayespoint.papers.experiments.registry import EXPERIMENTS

matplotlib_figure = pytest.importorskip("matplotlib.figure")


def drawn(name):
    """Draw an experiment; return the lines with data of both axes, by style."""
    experiment = EXPERIMENTS[name]
    figure = matplotlib_figure.Figure()
    experiment.draw([], experiment.settings(), figure)
    found = []
    for ax in figure.axes:
        styles = {"-": [], "--": [], ":": []}
        for line in ax.get_lines():
            if len(line.get_xdata()) > 2:
                styles[line.get_linestyle()].append(line.get_data())
        assert ax.get_ylabel() == "bound on the risk"
        assert 1.0 in [line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2]
        # Every line is in the legend, by its color or by its style.
        shown = ax.get_legend().get_lines()
        for line in ax.get_lines():
            assert line.get_linestyle() in [one.get_linestyle() for one in shown]
            assert line.get_color() in [one.get_color() for one in shown]
        found.append(styles)
    return found


def test_figure_1():
    left, right = drawn("figure-1")
    assert len(left["-"]) == len(left["--"]) == 4
    for omega, (m, vote), (_, draw) in zip(
        (1.0, 0.01, 1e-10, 1e-20), left["-"], left["--"], strict=True
    ):
        log_volume = -np.log(omega) - m * np.log(2)
        assert log_volume.max() <= -np.log(2)
        np.testing.assert_allclose(vote, bounds.volume_bayes(m, log_volume))
        np.testing.assert_allclose(draw, bounds.volume_gibbs(m, log_volume))
    for size, (x, vote) in zip((100, 300, 1000), right["-"], strict=True):
        np.testing.assert_allclose(vote, bounds.volume_bayes(size, -x))


def test_figure_2():
    left, right = drawn("figure-2")
    for m, (x, corollary), (_, exact) in zip(
        (500, 1000, 2000, 5000), left["-"], left[":"], strict=True
    ):
        margin = x**-0.5
        np.testing.assert_allclose(corollary, bounds.linear_svm(m, 100, margin))
        cap = bounds.cap_log_fraction(100, np.arcsin(margin))
        np.testing.assert_allclose(exact, bounds.volume_bayes(m, cap))
        assert (exact < corollary).all()
    (x, lucky), (_, corollary) = right["-"]
    np.testing.assert_allclose(lucky, bounds.luckiness(60_000, x**-0.5))
    np.testing.assert_allclose(corollary, bounds.linear_svm(60_000, 400, x**-0.5))
