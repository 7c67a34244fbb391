"""Every display draws a fitted default classifier in one line, of two classes and of three."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from bayespoint import BayesPointClassifier, plotting
from bayespoint.papers import displays
from helpers import SHIFT as SEED

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")
Figure = pytest.importorskip("matplotlib.figure").Figure
matplotlib.use("Agg")

HOMES = {name: home for home in (plotting, displays) for name in home.__all__}
NAMES = sorted(HOMES)
PRIVATE_WORDS = ("κ", "kappa", "impulse", "transparency", "violat", " ln ")


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    """Data and default classifier of two classes and of three."""
    moons = make_moons(60, noise=0.25, random_state=SEED)
    X, y = load_iris(return_X_y=True)
    kinds = np.array(["setosa", "versicolor", "virginica"])[y]
    return {
        n: (X, y, BayesPointClassifier(random_state=SEED).fit(X, y))
        for n, (X, y) in ((2, moons), (3, (X[::3], kinds[::3])))
    }


def drawn(name, fitted, n, **how):
    X, y, model = fitted[n]
    data = (X, y) if name == "RejectionDisplay" else ()
    return getattr(HOMES[name], name).from_estimator(model, *data, **how)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [2, 3])
def test_every_display_draws_a_default_classifier(name, n, fitted):
    if n == 3 and name == "OnionDisplay":
        with pytest.raises(ValueError, match=r"of two classes; got one of 3 classes"):
            drawn(name, fitted, n)
        return
    display = drawn(name, fitted, n)
    assert type(display).__name__ == name
    assert display.figure_.number in pyplot.get_fignums()
    display.figure_.canvas.draw()
    width, height = display.figure_.get_size_inches()
    ax = display.ax_
    # There is something to see, with words that a user of scikit-learn knows.
    assert ax.has_data()
    texts = [ax.xaxis.label, ax.yaxis.label]
    assert all(text.get_text() for text in texts)
    if ax.get_legend() is not None:
        texts += ax.get_legend().get_texts()
    for text in texts:
        assert not [word for word in PRIVATE_WORDS if word in f" {text.get_text()} "]
    # Nothing is cut off.
    box = display.figure_.get_tightbbox()
    assert box.x0 > -0.01
    assert box.y0 > -0.01
    assert box.x1 < width + 0.01
    assert box.y1 < height + 0.01


@pytest.mark.parametrize("name", NAMES)
def test_without_matplotlib_the_error_names_the_package(name, fitted, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        drawn(name, fitted, 2)


def test_a_joint_billiard_is_one_picture(fitted):
    model = fitted[3][2]
    run = model.billiard_
    display = drawn("WallsDisplay", fitted, 3)
    shares = np.abs(run.impulse_center).sum(axis=0) / 2  # of the own class and of the others
    np.testing.assert_allclose(display.impulse, shares / shares.sum(), rtol=1e-6)
    np.testing.assert_allclose(display.hits, run.hits.sum(axis=0) / run.hits.sum())
    with pytest.raises(ValueError, match="two classes for a picture on the sphere; got 3 classes"):
        drawn("BilliardDisplay", fitted, 3, view="sphere")
    # Without any label noise known, all rates are possible: the mean at the largest is known.
    evidence = drawn("EvidenceDisplay", fitted, 3, tol=0.2, random_state=SEED)
    assert evidence.label_noise[0] == pytest.approx(2 / 3)
    assert evidence.mean_violations[0] == pytest.approx(50 * 2 / 3, rel=0.1)


def test_training_errors_of_the_draws(fitted):
    """The shares are those of the draws' decisions at the training examples."""
    _, y, model = fitted[2]
    display = drawn("OnionDisplay", fitted, 2)
    draws = model.billiard_.draws.reshape(-1, len(y))
    functions = (model.kernel_(model.X_fit_, model.X_fit_) + model.fit_intercept) @ draws.T
    wrong = (functions > 0) != (y == 1)[:, None]
    errors = wrong[y == 0].sum(axis=0), wrong[y == 1].sum(axis=0)
    assert np.nansum(display.values) == pytest.approx(100)
    assert display.first == (errors[0].min(), errors[1].min())
    rows, columns = display.values.shape
    for row in range(rows):
        for column in range(columns):
            inside = ((errors[0] - display.first[0]) // display.step[0] == row) & (
                (errors[1] - display.first[1]) // display.step[1] == column
            )
            assert np.nan_to_num(display.values[row, column]) == pytest.approx(100 * inside.mean())


def test_an_onion_of_draws_without_errors_says_what_to_draw():
    X = np.random.default_rng(SEED).normal(size=(20, 3))
    model = BayesPointClassifier("linear", softness=0.0, random_state=SEED)
    with pytest.raises(ValueError, match=r"must have softness or label noise.*from_result"):
        displays.OnionDisplay.from_estimator(model.fit(X, X[:, 0] > 0))


def test_the_tuning_display_of_an_estimator_computes_nothing(fitted, monkeypatch):
    def refuse(*args, **how):
        raise AssertionError("the evidence was computed")

    monkeypatch.setattr("bayespoint.plotting.tuning.log_evidence_of", refuse)
    model = fitted[2][2]
    display = plotting.TuningDisplay.from_estimator(model, ax=Figure().add_subplot())
    assert display.surface is None
    with pytest.raises(AssertionError, match="was computed"):
        plotting.TuningDisplay.from_estimator(model, grid_resolution=2)
