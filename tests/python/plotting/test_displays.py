"""Displays against the results that they draw, and their errors."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from bayespoint import (
    BayesPointClassifier,
    plotting,
    results,
)
from bayespoint.data.examples import Examples
from bayespoint.kernels import RBF, Matern
from bayespoint.labels import Labels
from bayespoint.posterior import questions
from bayespoint.tuning.objective import log_evidence_of
from helpers import SHIFT as SEED

matplotlib = pytest.importorskip("matplotlib")
colors = pytest.importorskip("matplotlib.colors")
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


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(60, noise=0.25, random_state=SEED)
    model = BayesPointClassifier(1.0 * Matern(nu=2.5), random_state=SEED).fit(X, y)
    return X, y, model


@pytest.fixture(scope="module")
def three_classes():
    X = np.random.default_rng(SEED).normal(size=(45, 2))
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return X, y, BayesPointClassifier(RBF(1.5), softness=0.1, random_state=SEED).fit(X, y)


# --- tuning ---


def test_settings_tried(moons, ax):
    search = moons[2].tuning_
    display = plotting.TuningDisplay.from_result(search, ax=ax)
    assert display.params == ("kernel.sigma", "softness")
    columns = [search.names.index(name) for name in display.params]
    full = search.tried[search.tried[:, -2] == search.n_examples]
    np.testing.assert_array_equal(display.scatter_.get_offsets(), full[:, columns])
    np.testing.assert_array_equal(display.scatter_.get_array(), full[:, -1].max() - full[:, -1])
    [star] = [line for line in ax.lines if line.get_label() == "best"]
    np.testing.assert_array_equal(np.ravel(star.get_data()), full[full[:, -1].argmax(), columns])
    assert display.contours_ is None


def log_evidence(model, y, kernel, softness, label_noise=0.0):
    """Return the approximate evidence of the training examples of a classifier."""
    examples = Examples(model.X_fit_, np.asarray(y), np.ones(len(y)))
    labels = Labels.two_classes().with_noise((label_noise, label_noise))
    return log_evidence_of(kernel, examples, labels, offset=1.0, softness=softness)


def test_surface_is_the_evidence_that_was_searched(moons, ax):
    model = moons[2]
    display = plotting.TuningDisplay.from_estimator(model, grid_resolution=4, ax=ax)
    assert display.surface.shape == (4, 4)
    best = display.search.log_evidence
    assert display.surface.max() <= best + 0.5
    at_best = log_evidence(model, moons[1], model.kernel_, model.softness_)
    assert at_best == pytest.approx(best, abs=0.01)
    # A corner of the surface, computed here.
    from bayespoint import kernels

    kernel = kernels.replace(model.kernel_, {"kernel.sigma": float(display.grid[0][-1])})
    corner = log_evidence(model, moons[1], kernel, float(display.grid[1][0]))
    assert display.surface[0, -1] == pytest.approx(corner)


def test_one_setting_is_a_curve(moons, ax):
    X, y, _ = moons
    model = BayesPointClassifier(RBF(1.5), random_state=SEED).fit(X, y)
    display = plotting.TuningDisplay.from_estimator(model, grid_resolution=5, ax=ax)
    assert display.params == ("softness",)
    curve = ax.lines[0]
    np.testing.assert_array_equal(curve.get_ydata(), display.surface)


def test_label_noise_on_an_axis(ax):
    """One rate is that of both classes. Settings tried without noise are left out."""
    X, y = make_moons(60, noise=0.1, random_state=SEED)
    y = y.copy()
    y[::8] = 1 - y[::8]
    model = BayesPointClassifier("rbf", label_noise=None, random_state=SEED, tol=0.3, n_draws=20)
    model.fit(X, y)
    params = ["softness", "label_noise_negative"]
    display = plotting.TuningDisplay.from_estimator(model, params=params, grid_resolution=3, ax=ax)
    assert (display.tried > 0).all()
    assert len(display.tried) < len(model.tuning_.tried)
    rate, softness = float(display.grid[1][0]), float(display.grid[0][2])
    expected = log_evidence(model, y, model.kernel_, softness, rate)
    assert display.surface[0, 2] == pytest.approx(expected)


def test_tuning_refuses(moons, three_classes, ax):
    X, y, model = moons
    draw = plotting.TuningDisplay
    with pytest.raises(ValueError, match="params must be settings with several positive values"):
        draw.from_result(model.tuning_, params=["label_noise_negative"], ax=ax)
    with pytest.raises(ValueError, match="estimator must have searched"):
        draw.from_estimator(three_classes[2], ax=ax)
    with pytest.raises(NotFittedError):
        draw.from_estimator(BayesPointClassifier(), ax=ax)
    with pytest.raises(TypeError, match="result must be a Search; got a BayesPointClassifier"):
        draw.from_result(model, ax=ax)
    gram = BayesPointClassifier("precomputed", random_state=SEED).fit(X @ X.T + np.eye(60), y)
    with pytest.raises(ValueError, match="one of kernel='precomputed'"):
        draw.from_estimator(gram, grid_resolution=3, ax=ax)
    assert draw.from_estimator(gram, ax=ax).surface is None


# --- rejection, convergence ---


def test_rejection_draws_the_curve(moons, ax):
    model = moons[-1]
    X_test, y_test = make_moons(100, noise=0.25, random_state=SEED + 1)
    display = plotting.RejectionDisplay.from_estimator(model, X_test, y_test, ax=ax)
    coverage, error, cost = questions.rejection_curve(y_test, model.predict_proba(X_test))
    np.testing.assert_allclose(np.transpose(display.line_.get_data()), 100 * np.c_[coverage, error])
    np.testing.assert_array_equal(display.cost, cost)
    display.plot(ax=ax, color="C1", label="again")
    assert ax.get_legend_handles_labels()[1] == ["BayesPointClassifier", "again"]


def test_rejection_refuses_other_labels_and_models_that_are_not_fitted(moons, ax):
    X, y, model = moons
    with pytest.raises(ValueError, match="y_true must hold labels among"):
        plotting.RejectionDisplay.from_estimator(model, X, np.full(60, 7), ax=ax)
    with pytest.raises(NotFittedError):
        plotting.RejectionDisplay.from_estimator(BayesPointClassifier(), X, y, ax=ax)


# --- relevance ---


def relevance(n=5):
    states = np.random.default_rng(SEED).uniform(0.0, 2.0, size=(12, n))
    names = [f"feature {j}" for j in range(n)]
    return results.FeatureRelevance.of(states, np.full(12, 1 / 12), names)


def test_relevance(ax):
    found = relevance()
    display = plotting.RelevanceDisplay.from_result(found, max_features=3, ax=ax)
    shown = found.ranking[:3]
    np.testing.assert_array_equal(display.points_.get_xdata(), found.mean[shown])
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"feature {j}" for j in shown]
    ends = [line[:, 0].tolist() for line in display.intervals_.get_segments()]
    assert ends == [[found.low[j], found.high[j]] for j in shown]
    with pytest.raises(ValueError, match="max_features must be an integer of at least 1; got 0"):
        plotting.RelevanceDisplay.from_result(found, max_features=0)
