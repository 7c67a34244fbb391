"""The pictures of the bounds show the right values."""

import pytest

from bayespoint.papers.experiments.registry import EXPERIMENTS

matplotlib_figure = pytest.importorskip("matplotlib.figure")


@pytest.mark.parametrize("name", ["figure-1", "figure-2"])
def test_every_line_is_in_the_legend(name):
    experiment, figure = EXPERIMENTS[name], matplotlib_figure.Figure()
    experiment.draw([], experiment.settings(), figure)
    assert len(figure.axes) == 2
    for ax in figure.axes:
        assert ax.get_ylabel() == "bound on the risk"
        shown = ax.get_legend().get_lines()
        for line in ax.get_lines():
            assert line.get_linestyle() in [one.get_linestyle() for one in shown]
            assert line.get_color() in [one.get_color() for one in shown]
