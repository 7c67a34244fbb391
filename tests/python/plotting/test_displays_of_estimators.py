"""Every display draws a fitted default classifier in one line, of two classes and of three."""

import os

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from bayespoint import BayesPointClassifier, plotting

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")
Figure = pytest.importorskip("matplotlib.figure").Figure
matplotlib.use("Agg")

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))
NAMES = sorted(set(plotting.__all__) - {"Panels"})
BY_CLASS = sorted(set(NAMES) - {"RejectionDisplay", "RelevanceDisplay", "TuningDisplay"})
PRIVATE_WORDS = ("κ", "kappa", "impulse", "transparency", "violat", " ln ")


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    """Data and default classifier of two classes, of three, and of each of these."""
    moons = make_moons(60, noise=0.25, random_state=SEED)
    X, y = load_iris(return_X_y=True)
    kinds = np.array(["setosa", "versicolor", "virginica"])[y]
    three = X[::3], kinds[::3]
    return {
        n: (X, y, BayesPointClassifier(random_state=SEED, **how).fit(X, y))
        for n, (X, y), how in (
            (2, moons, {}),
            (3, three, {}),
            ("each", three, {"multiclass": "one_vs_rest"}),
        )
    }


def drawn(name, fitted, n, **how):
    X, y, model = fitted[n]
    data = (X, y) if name == "RejectionDisplay" else ()
    return getattr(plotting, name).from_estimator(model, *data, **how)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [2, 3, "each"])
def test_every_display_draws_a_default_classifier(name, n, fitted):
    if n == 3 and name == "OnionDisplay":
        with pytest.raises(ValueError, match=r"of two classes.*got one of 3 classes jointly"):
            drawn(name, fitted, n)
        return
    display = drawn(name, fitted, n)
    panels = n == "each" and name in BY_CLASS
    assert type(display).__name__ == ("Panels" if panels else name)
    all_axes = display.axes_ if panels else [display.ax_]
    display.figure_.canvas.draw()
    width, height = display.figure_.get_size_inches()
    for ax in all_axes:
        # There is something to see, with words that a user of scikit-learn knows.
        assert ax.has_data()
        texts = [ax.get_xlabel(), ax.get_ylabel()]
        assert all(texts)
        if ax.get_legend() is not None:
            texts += [text.get_text() for text in ax.get_legend().get_texts()]
        assert not [text for text in texts for word in PRIVATE_WORDS if word in f" {text} "]
    # Nothing is cut off.
    box = display.figure_.get_tightbbox()
    assert box.x0 > -0.01
    assert box.y0 > -0.01
    assert box.x1 < width + 0.01
    assert box.y1 < height + 0.01
    if panels:
        titles = [ax.get_title() for ax in all_axes]
        assert titles == ["class setosa", "class versicolor", "class virginica"]


@pytest.mark.parametrize("name", BY_CLASS)
def test_axes_and_labels_of_several_classes(name, fitted):
    one = drawn(name, fitted, "each", label="virginica", ax=Figure().add_subplot())
    assert type(one).__name__ == name
    axes = Figure().subplots(1, 3)
    panels = drawn(name, fitted, "each", ax=axes)
    assert panels.axes_ == list(axes)
    assert panels.figure_ is axes[0].figure
    assert list(panels.displays) == ["setosa", "versicolor", "virginica"]
    with pytest.raises(ValueError, match="ax must be a sequence of 3 axes, one for each class"):
        drawn(name, fitted, "each", ax=Figure().add_subplot())
    again = panels.plot()
    assert again is panels
    assert len(again.figure_.axes) >= 3


def test_panels_are_the_binary_problems(fitted):
    model = fitted["each"][2]
    panels = drawn("WallsDisplay", fitted, "each")
    for display, run in zip(panels.displays.values(), model.billiard_, strict=True):
        np.testing.assert_array_equal(display.y, run.y)
        shares = np.abs(run.impulse_center)
        np.testing.assert_allclose(display.impulse, shares / shares.sum())


def test_a_joint_billiard_is_one_picture(fitted):
    model = fitted[3][2]
    run = model.billiard_
    display = drawn("WallsDisplay", fitted, 3)
    shares = np.abs(run.impulse_center).sum(axis=0) / 2  # of the own class and of the others
    np.testing.assert_allclose(display.impulse, shares / shares.sum(), rtol=1e-6)
    np.testing.assert_allclose(display.hits, run.hits.sum(axis=0) / run.hits.sum())
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {f"contribution, y = {name}" for name in model.classes_} <= set(words)
    with pytest.raises(ValueError, match="label must be None for a single billiard; got 'setosa'"):
        drawn("WallsDisplay", fitted, 3, label="setosa")
    with pytest.raises(ValueError, match="two classes for a picture on the sphere; got 3 classes"):
        drawn("BilliardDisplay", fitted, 3, view="sphere")
    # Without any label noise known, all rates are possible: the mean at the largest is known.
    evidence = drawn("EvidenceDisplay", fitted, 3, tol=1.0, random_state=SEED)
    assert evidence.label_noise[0] == pytest.approx(2 / 3)
    assert evidence.mean_violations[0] == pytest.approx(50 * 2 / 3, rel=0.1)


def test_training_errors_of_the_draws(fitted):
    """The shares are those of the draws' decisions at the training examples."""
    _, y, model = fitted[2]
    display = drawn("OnionDisplay", fitted, 2)
    gram = model.posterior_.kernel(model.X_fit_, model.X_fit_)
    functions = gram @ model.billiard_.draws.reshape(-1, len(y)).T
    functions += model.posterior_.offset * model.billiard_.draws.reshape(-1, len(y)).sum(axis=1)
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
    low = display.ax_.get_yticklabels()[0].get_text()
    assert low.split("–")[0] == str(display.first[0])


def test_many_training_errors_share_cells():
    X = np.random.default_rng(SEED).normal(size=(200, 1))
    y = np.random.default_rng(SEED + 1).integers(2, size=200)
    model = BayesPointClassifier("rbf", softness=2.0, tol=0.3, random_state=SEED)
    display = plotting.OnionDisplay.from_estimator(model.fit(X, y), ax=Figure().add_subplot())
    assert max(display.step) > 1
    assert max(display.values.shape) <= 12
    assert np.nansum(display.values) == pytest.approx(100)
    axis = display.ax_.xaxis if display.step[1] > 1 else display.ax_.yaxis
    assert "–" in axis.get_ticklabels()[0].get_text()


def test_an_onion_of_draws_without_errors_says_what_to_draw():
    X = np.random.default_rng(SEED).normal(size=(20, 3))
    model = BayesPointClassifier("linear", softness=0.0, random_state=SEED)
    with pytest.raises(ValueError, match=r"must have softness or label noise.*from_result"):
        plotting.OnionDisplay.from_estimator(model.fit(X, X[:, 0] > 0))


def test_a_billiard_in_three_dimensions_is_on_the_sphere():
    X = np.random.default_rng(SEED).normal(size=(20, 3))
    model = BayesPointClassifier(
        "linear", softness=0.0, fit_intercept=False, random_state=SEED
    ).fit(X, X[:, 0] > 0)
    display = plotting.BilliardDisplay.from_estimator(model)
    assert display.corners.shape[1] == 3
    assert hasattr(display.ax_, "get_zlim")


def test_the_tuning_display_of_an_estimator_computes_nothing(fitted, monkeypatch):
    def refuse(*args, **how):
        raise AssertionError("the evidence was computed")

    monkeypatch.setattr("bayespoint.tuning.search.approximate_log_evidence", refuse)
    model = fitted[2][2]
    display = plotting.TuningDisplay.from_estimator(model, ax=Figure().add_subplot())
    assert display.surface is None
    with pytest.raises(AssertionError, match="was computed"):
        plotting.TuningDisplay.from_estimator(model, grid_resolution=2)
