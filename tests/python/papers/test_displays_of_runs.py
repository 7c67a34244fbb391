"""Displays of walls, evidences and layers, against the results that they draw."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from bayespoint import BayesPointClassifier, Evidence, VersionSpace, datasets
from bayespoint.papers.displays import EvidenceDisplay, OnionDisplay, WallsDisplay
from bayespoint.papers.dynamics import Chord
from bayespoint.papers.onion import onion
from helpers import SHIFT as SEED
from helpers import flown

matplotlib = pytest.importorskip("matplotlib")
colors = pytest.importorskip("matplotlib.colors")
Figure = pytest.importorskip("matplotlib.figure").Figure
matplotlib.use("Agg")


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture(scope="module")
def teacher():
    X, y = datasets.make_teacher(40, 5, random_state=SEED + 1)
    space = VersionSpace(X @ X.T, y)
    return space, space.sample(tol=0.05, n_draws=200, random_state=SEED)


@pytest.fixture(scope="module")
def table(teacher):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return onion(teacher[0], max_errors=(2, 3), tol=0.1, random_state=SEED)


def test_walls_are_the_impulses(teacher, ax):
    _, run = teacher
    display = WallsDisplay.from_result(run, n_largest=5, ax=ax)
    shares = np.abs(run.impulse_center) / np.abs(run.impulse_center).sum()
    np.testing.assert_allclose(display.impulse, shares)
    np.testing.assert_allclose(display.hits.sum(), 1)
    assert (np.diff(shares[display.order_]) <= 0).all()
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, 100 * shares[display.order_])
    blue, vermilion = (colors.to_rgba(c) for c in ("#0072B2", "#D55E00"))
    found = [bar.get_facecolor() for bar in display.bars_]
    assert found == [vermilion if run.label[k] else blue for k in display.order_]
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == [str(k) for k in display.order_]


def test_walls_refuse(ax):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        short = VersionSpace(np.eye(3), [1, 1, 1]).sample(
            length=1e-6, n_trajectories=1, n_draws=2, random_state=0
        )
        chord = flown(VersionSpace(np.eye(3), [1, 1, 1]), Chord(), max_bounces=50, random_state=0)
    with pytest.raises(ValueError, match="got a run that met no wall"):
        WallsDisplay.from_result(short, ax=ax)
    with pytest.raises(ValueError, match="Chord or Flipper"):
        WallsDisplay.from_result(chord.run, ax=ax)
    with pytest.raises(TypeError, match=r"a pipeline that ends in one.*got a LogisticRegression"):
        WallsDisplay.from_estimator(LogisticRegression().fit([[0], [1]], [0, 1]), ax=ax)
    with pytest.raises(NotFittedError):
        WallsDisplay.from_estimator(BayesPointClassifier(), ax=ax)


def test_ladder_of_one_rate_of_several_and_none(teacher, ax):
    space, _ = teacher
    one = space.evidence(0.05, tol=0.5, random_state=SEED)
    EvidenceDisplay.from_result(one, ax=ax)
    title = ax.get_legend().get_title().get_text().replace("−", "-")
    assert f"{one.value:.4g} ± {one.error:.2g} nats" in title
    several = space.evidence([0.05, 0.2], tol=0.5, random_state=SEED)
    EvidenceDisplay.from_result(several, ax=ax)
    assert ax.get_legend().get_title().get_text() == ""
    bridge = space.evidence(tol=0.5, random_state=SEED)
    assert isinstance(bridge, Evidence)
    with pytest.raises(ValueError, match=r"label_noise=\[0, 0.4\]; got <Evidence: -"):
        EvidenceDisplay.from_result(bridge, ax=ax)
    with pytest.raises(TypeError, match="result must be an Evidence; got a float"):
        EvidenceDisplay.from_result(bridge.value, ax=ax)


def test_onion_cells(table, ax):
    display = OnionDisplay.from_result(table, ax=ax)
    seen = np.isfinite(table.log_volume)
    np.testing.assert_array_equal(display.values, np.where(seen, table.log_volume, np.nan))
    np.testing.assert_array_equal(display.im_.get_array().compressed(), table.log_volume[seen])
    assert display.text_[0, 0].get_text() == f"{table.log_volume[0, 0]:.3g}"
    assert {text.get_text() for text in display.text_[~seen]} <= {"–"}
    assert "nats" in display.colorbar_.ax.get_ylabel()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "2", "3"]


def test_onion_of_own_numbers(table, ax):
    values = np.arange(12.0).reshape(3, 4)
    values[0, 1] = np.nan
    display = OnionDisplay.from_result(
        table, values=values, name="test errors", values_format=".1f", ax=ax
    )
    assert display.text_[2, 3].get_text() == "11.0"
    assert display.text_[0, 1].get_text() == "–"
    assert display.colorbar_.ax.get_ylabel() == "test errors"
    # Text on a dark cell is white, on a light one black.
    assert display.text_[0, 0].get_color() == "black"
    assert display.text_[2, 3].get_color() == "white"


def test_onion_refuses(table, teacher, ax):
    for result, values, text in (
        (table, "volume", r"values must be one of 'log_volume'.*got 'volume'"),
        (table, np.zeros((2, 2)), r"values must have shape \(3, 4\); got \(2, 2\)"),
        (table, np.full((3, 4), np.nan), "values must be finite for at least one layer"),
        (teacher[1], "log_volume", "result must be an OnionTable; got a BilliardResult"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            OnionDisplay.from_result(result, values=values, ax=ax)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        projected = onion(teacher[0], (1, 1), method="projected", tol=0.2, random_state=SEED)
    with pytest.raises(ValueError, match="which method='projected' does not provide"):
        OnionDisplay.from_result(projected, values="log_volume", ax=ax)
    drawn = OnionDisplay.from_result(projected, ax=ax)
    np.testing.assert_array_equal(drawn.values, projected.path_length)
