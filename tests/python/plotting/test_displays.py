"""Displays against the results that they draw, and their errors."""

import os
import sys
import warnings

import numpy as np
import pytest
from scipy import integrate, special
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from bayespoint import (
    BayesPointClassifier,
    Evidence,
    SampleOptions,
    VersionSpace,
    datasets,
    plotting,
    results,
)
from bayespoint.kernels import RBF
from bayespoint.posterior import rejection
from bayespoint.tuning import search as tuning_search

matplotlib = pytest.importorskip("matplotlib")
colors = pytest.importorskip("matplotlib.colors")
pyplot = pytest.importorskip("matplotlib.pyplot")
Figure = pytest.importorskip("matplotlib.figure").Figure
matplotlib.use("Agg")

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))


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
    return X, y, BayesPointClassifier(random_state=SEED, n_models=1).fit(X, y)


@pytest.fixture(scope="module")
def three_classes():
    X = np.random.default_rng(SEED).normal(size=(45, 2))
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = BayesPointClassifier(
        RBF(1.5), softness=0.1, multiclass="one_vs_rest", random_state=SEED
    )
    return X, y, model.fit(X, y)


@pytest.fixture(scope="module")
def teacher():
    X, y = datasets.make_teacher(40, 5, random_state=SEED + 1)
    space = VersionSpace(X @ X.T, y)
    return space, space.sample(tol=0.05, n_draws=200, random_state=SEED)


@pytest.fixture(scope="module")
def cone():
    """Version space of three dimensions, its examples, and a run."""
    problem = datasets.make_elongated(random_state=3)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    return space, problem.data, space.sample(length=400.0, random_state=SEED)


def labels_of(ax):
    return ax.get_legend_handles_labels()[1]


# --- walls, evidence, onion ---


def test_walls_are_the_impulses(teacher, ax):
    _, run = teacher
    display = plotting.WallsDisplay.from_result(run, n_largest=5, ax=ax)
    shares = np.abs(run.impulse_center) / np.abs(run.impulse_center).sum()
    np.testing.assert_allclose(display.impulse, shares)
    np.testing.assert_allclose(display.hits.sum(), 1)
    assert (np.diff(shares[display.order_]) <= 0).all()
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, 100 * shares[display.order_])
    blue, vermilion = (colors.to_rgba(c) for c in ("#0072B2", "#D55E00"))
    found = [bar.get_facecolor() for bar in display.bars_]
    assert found == [blue if run.y[k] < 0 else vermilion for k in display.order_]
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == [str(k) for k in display.order_]


def test_walls_of_an_estimator(three_classes, moons, ax):
    _, _, model = three_classes
    display = plotting.WallsDisplay.from_estimator(model, label="middle", ax=ax)
    assert any("middle" in name for name in labels_of(ax))
    number = list(model.classes_).index("middle")
    np.testing.assert_array_equal(display.y, model.billiard_[number].y)
    with pytest.raises(ValueError, match=r"label must be one of the classes.*got 'none'"):
        plotting.WallsDisplay.from_estimator(model, label="none", ax=ax)
    with pytest.raises(ValueError, match="label must be None for a single billiard; got 1"):
        plotting.WallsDisplay.from_estimator(moons[2], label=1, ax=ax)


def test_walls_refuse(ax):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        short = VersionSpace(np.eye(3), [1, 1, 1]).sample(
            length=1e-6, n_trajectories=1, n_draws=2, random_state=0
        )
        chord = VersionSpace(np.eye(3), [1, 1, 1]).sample(
            options=SampleOptions(max_bounces=50, dynamics="chord"), random_state=0
        )
    with pytest.raises(ValueError, match="got a run that met no wall"):
        plotting.WallsDisplay.from_result(short, ax=ax)
    with pytest.raises(ValueError, match="dynamics 'chord' or 'flipper'"):
        plotting.WallsDisplay.from_result(chord, ax=ax)
    with pytest.raises(TypeError, match=r"a pipeline that ends in one.*got a LogisticRegression"):
        plotting.WallsDisplay.from_estimator(LogisticRegression().fit([[0], [1]], [0, 1]), ax=ax)
    with pytest.raises(NotFittedError):
        plotting.WallsDisplay.from_estimator(BayesPointClassifier(), ax=ax)


def test_ladder_and_the_area_below_it(teacher, ax):
    space, _ = teacher
    found = space.evidence(method="integration", tol=0.2, random_state=SEED)
    display = plotting.EvidenceDisplay.from_result(found, ax=ax)
    x, y = display.line_.get_data()
    # The log-odds of the noise, so that areas on the axis are nats.
    np.testing.assert_allclose(special.logit(x), found.log_transparency, rtol=1e-9, atol=1e-12)
    assert ax.get_xscale() == "logit"
    np.testing.assert_array_equal(y, found.mean_violations)
    # The area is -ln Z, except for the curvature between rungs and the tail beyond the last.
    area = -integrate.trapezoid(y, special.logit(x)) + y[-1]
    assert area == pytest.approx(-found.value, rel=0.15)
    corners = display.area_.get_paths()[0].vertices
    assert corners[:, 1].max() == y.max()
    title = ax.get_legend().get_title().get_text().replace("−", "-")
    assert f"{found.value:.4g} ± {found.error:.2g} nats" in title


def test_ladder_of_several_rates_and_what_has_none(teacher, ax):
    space, _ = teacher
    several = space.evidence([0.05, 0.2], tol=0.5, random_state=SEED)
    plotting.EvidenceDisplay.from_result(several, ax=ax)
    assert ax.get_legend().get_title().get_text() == ""
    bridge = space.evidence(tol=0.5, random_state=SEED)
    assert isinstance(bridge, Evidence)
    with pytest.raises(ValueError, match=r"method='integration'.*got one by method='bridge'"):
        plotting.EvidenceDisplay.from_result(bridge, ax=ax)
    with pytest.raises(TypeError, match="result must be an Evidence; got a float"):
        plotting.EvidenceDisplay.from_result(bridge.value, ax=ax)


@pytest.fixture(scope="module")
def table(teacher):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return teacher[0].onion(max_errors=(2, 3), tol=0.1, random_state=SEED)


def test_onion_cells(table, ax):
    display = plotting.OnionDisplay.from_result(table, ax=ax)
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
    display = plotting.OnionDisplay.from_result(
        table, values=values, name="test errors", values_format=".1f", ax=ax
    )
    assert display.text_[2, 3].get_text() == "11.0"
    assert display.text_[0, 1].get_text() == "–"
    assert display.colorbar_.ax.get_ylabel() == "test errors"
    # Text on a dark cell is white, on a light one black.
    assert display.text_[0, 0].get_color() == "black"
    assert display.text_[2, 3].get_color() == "white"


def test_onion_refuses(table, teacher, ax):
    draw = plotting.OnionDisplay.from_result
    with pytest.raises(ValueError, match=r"values must be one of 'log_volume'.*got 'volume'"):
        draw(table, values="volume", ax=ax)
    with pytest.raises(ValueError, match=r"values must have shape \(3, 4\); got \(2, 2\)"):
        draw(table, values=np.zeros((2, 2)), ax=ax)
    with pytest.raises(ValueError, match="values must be finite for at least one layer"):
        draw(table, values=np.full((3, 4), np.nan), ax=ax)
    with pytest.raises(TypeError, match="result must be an OnionTable; got a BilliardResult"):
        draw(teacher[1], ax=ax)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        projected = teacher[0].onion(
            max_errors=(1, 1), method="projected", tol=0.2, random_state=SEED
        )
    with pytest.raises(ValueError, match="which method='projected' does not provide"):
        draw(projected, values="log_volume", ax=ax)
    np.testing.assert_array_equal(draw(projected, ax=ax).values, projected.path_length)


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


def test_surface_is_the_evidence_that_was_searched(moons, ax):
    model = moons[2]
    display = plotting.TuningDisplay.from_estimator(model, grid_resolution=4, ax=ax)
    assert display.surface.shape == (4, 4)
    best = display.search.log_evidence
    assert display.surface.max() <= best + 0.5
    labels = np.where(moons[1] == 1, 1.0, -1.0)[None]
    at_best = tuning_search.approximate_log_evidence(
        model.kernel_, model.X_fit_, labels, offset=1.0, softness=model.softness_
    )
    assert at_best == pytest.approx(best, abs=0.01)
    # A corner of the surface, computed here.
    from bayespoint import kernels

    kernel = kernels.replace(model.kernel_, {"kernel.sigma": float(display.grid[0][-1])})
    corner = tuning_search.approximate_log_evidence(
        kernel, model.X_fit_, labels, offset=1.0, softness=float(display.grid[1][0])
    )
    assert display.surface[0, -1] == pytest.approx(corner)


def test_one_setting_is_a_curve(moons, ax):
    X, y, _ = moons
    model = BayesPointClassifier(RBF(1.5), random_state=SEED).fit(X, y)
    display = plotting.TuningDisplay.from_estimator(model, grid_resolution=5, ax=ax)
    assert display.params == ("softness",)
    curve = ax.lines[0]
    np.testing.assert_array_equal(curve.get_ydata(), display.surface)
    assert ax.get_ylabel() == "approximate log evidence (nats)"


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
    expected = tuning_search.approximate_log_evidence(
        model.kernel_,
        model.X_fit_,
        np.where(y == 1, 1.0, -1.0)[None],
        offset=1.0,
        softness=softness,
        label_noise=(rate, rate),
    )
    assert display.surface[0, 2] == pytest.approx(expected)
    assert "label noise" in ax.get_ylabel()


def test_tuning_refuses(moons, three_classes, ax):
    X, y, model = moons
    draw = plotting.TuningDisplay
    with pytest.raises(ValueError, match="params must be settings with several positive values"):
        draw.from_result(model.tuning_, params=["label_noise_negative"], ax=ax)
    with pytest.raises(ValueError, match="params must name one or two settings"):
        draw.from_result(model.tuning_, params=["softness", "softness"], ax=ax)
    with pytest.raises(ValueError, match="estimator must have searched"):
        draw.from_estimator(three_classes[2], ax=ax)
    with pytest.raises(NotFittedError):
        draw.from_estimator(BayesPointClassifier(), ax=ax)
    with pytest.raises(TypeError, match="got a LogisticRegression"):
        draw.from_estimator(LogisticRegression().fit(X, y), ax=ax)
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
    coverage, error, cost = rejection.rejection_curve(y_test, model.predict_proba(X_test))
    np.testing.assert_allclose(np.transpose(display.line_.get_data()), 100 * np.c_[coverage, error])
    np.testing.assert_array_equal(display.cost, cost)
    assert labels_of(ax) == ["BayesPointClassifier"]
    display.plot(ax=ax, color="C1", label="again")
    assert labels_of(ax) == ["BayesPointClassifier", "again"]


def test_rejection_curves_in_one_picture_differ_in_color_and_are_whole(ax):
    """The second one has more errors than the first."""
    y = np.array([0, 0, 1, 1])
    proba = np.array([0.9, 0.8, 0.3, 0.4])
    for p in (proba, 1 - proba):
        plotting.RejectionDisplay.from_predictions(y, np.c_[p, 1 - p], ax=ax)
    first, second = ax.lines
    assert first.get_color() != second.get_color()
    assert second.get_ydata().max() == 100
    assert ax.get_ylim() == (0, pytest.approx(105))


def test_rejection_refuses_other_labels_and_models_that_are_not_fitted(moons, ax):
    X, y, model = moons
    with pytest.raises(ValueError, match="y_true must hold only the given labels; got 7"):
        plotting.RejectionDisplay.from_estimator(model, X, np.full(60, 7), ax=ax)
    with pytest.raises(NotFittedError):
        plotting.RejectionDisplay.from_estimator(BayesPointClassifier(), X, y, ax=ax)


def test_convergence_of_draws(teacher, ax):
    space, run = teacher
    display = plotting.ConvergenceDisplay.from_result(run, space, ax=ax)
    assert display.length[-1] == pytest.approx(run.draws.shape[1] * run.spacing)
    # The last point is the mean of all draws.
    mean = run.draws.mean(axis=(0, 1))
    gram = space.gram
    cosine = mean @ gram @ run.center / np.sqrt(mean @ gram @ mean)
    assert display.angle[-1] == pytest.approx(np.arccos(cosine), abs=1e-6)
    parts = run.draws.mean(axis=1) - mean
    squares = np.einsum("tm,mn,tn->", parts, gram, parts) / (len(parts) * (len(parts) - 1))
    expected = np.sqrt(squares / (mean @ gram @ mean))
    assert display.center_error[-1] == pytest.approx(expected)
    np.testing.assert_array_equal(display.error_line_.get_ydata(), display.center_error)
    assert display.reference_error == run.center_error
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_convergence_to_an_exact_center(ax):
    """For an orthant the error falls with the path, and agrees with its estimate."""
    space = VersionSpace(np.eye(3), [1, 1, -1])
    display = plotting.ConvergenceDisplay.from_space(
        space, [20, 200, 20_000], reference=[2, 2, -2], random_state=SEED, ax=ax
    )
    run = space.sample(length=20, n_draws=4, random_state=0)
    assert display.reference_error == 0
    assert display.angle[-1] < display.angle[0]
    assert display.angle[-1] < 5 * display.center_error[-1]
    assert run.length == display.length[0]
    assert "error of the reference" not in labels_of(ax)


def test_convergence_without_a_reference_has_its_error(ax):
    space = VersionSpace(np.eye(3), [1, 1, -1])
    display = plotting.ConvergenceDisplay.from_space(
        space, [10, 100], n_trajectories=1, random_state=SEED, ax=ax
    )
    assert 0 < display.reference_error < 0.1
    assert "error of the reference" in labels_of(ax)


def test_convergence_refuses(teacher, ax):
    space, run = teacher
    draw = plotting.ConvergenceDisplay
    with pytest.raises(ValueError, match="lengths must be at least two increasing numbers"):
        draw.from_space(space, [2.0, 1.0], ax=ax)
    with pytest.raises(ValueError, match="lengths must be finite and in"):
        draw.from_space(space, [-1.0, 1.0], ax=ax)
    with pytest.raises(ValueError, match="reference must have shape"):
        draw.from_result(run, space, reference=[1.0], ax=ax)
    with pytest.raises(ValueError, match="reference must be a weight vector of positive length"):
        draw.from_result(run, space, reference=np.zeros(40), ax=ax)
    with pytest.raises(TypeError, match="space must be a VersionSpace; got a BilliardResult"):
        draw.from_space(run, [1, 2], ax=ax)
    single = space.sample(tol=0.05, n_draws=1, random_state=0)
    with pytest.raises(ValueError, match="result must have at least two draws of a path"):
        draw.from_result(single, space, ax=ax)


def test_convergence_of_an_estimator(three_classes, ax):
    _, _, model = three_classes
    display = plotting.ConvergenceDisplay.from_estimator(model, label="high", ax=ax)
    assert display.reference_error == model.billiard_[0].center_error


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
    assert ax.get_ylabel() == "first 3 of 5 features"
    with pytest.raises(ValueError, match="max_features must be an integer of at least 1; got 0"):
        plotting.RelevanceDisplay.from_result(found, max_features=0)


def test_relevance_of_a_plain_classifier_is_refused(moons):
    with pytest.raises(AttributeError, match="feature_relevance_ needs several models"):
        plotting.RelevanceDisplay.from_estimator(moons[2])


# --- all displays ---


def every_display(moons, teacher, cone, table):
    X, y, model = moons
    space, run = teacher
    found = space.evidence(method="integration", tol=0.5, random_state=SEED)
    yield plotting.BilliardDisplay.from_result(cone[2], cone[0])
    yield plotting.BilliardDisplay.from_result(cone[2], cone[0], view="chart")
    yield plotting.WallsDisplay.from_estimator(model)
    yield plotting.EvidenceDisplay.from_result(found)
    yield plotting.TuningDisplay.from_result(model.tuning_)
    yield plotting.OnionDisplay.from_result(table)
    yield plotting.RejectionDisplay.from_estimator(model, X, y)
    yield plotting.RelevanceDisplay.from_result(relevance())
    yield plotting.ConvergenceDisplay.from_result(run, space)


@pytest.mark.long
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_new_figures_are_legible_in_any_style(style, moons, teacher, cone, table):
    with pyplot.style.context(style):
        page = colors.to_rgb(pyplot.rcParams["figure.facecolor"])
        seen = set()
        for display in every_display(moons, teacher, cone, table):
            seen.add(type(display).__name__)
            ax = display.ax_
            assert display.figure_.number in pyplot.get_fignums()
            display.figure_.canvas.draw()
            if ax.axison:
                assert ax.get_xlabel(), type(display)
                assert ax.get_ylabel(), type(display)
            legend = ax.get_legend()
            texts = [] if legend is None else legend.get_texts()
            for text in [ax.xaxis.label, ax.yaxis.label, *texts]:
                contrast = np.abs(np.subtract(colors.to_rgb(text.get_color()), page)).max()
                assert contrast > 0.5, type(display)
            # No label is cut off at the edge of the figure.
            box = display.figure_.get_tightbbox()
            width, height = display.figure_.get_size_inches()
            if ax.axison:
                assert box.x0 > -0.01, type(display)
                assert box.y0 > -0.01, type(display)
                assert box.x1 < width + 0.01, type(display)
                assert box.y1 < height + 0.01, type(display)
            pyplot.close(display.figure_)
        assert seen == set(plotting.__all__) - {"Panels"}


def test_without_matplotlib_every_error_names_the_package(monkeypatch, moons, teacher, cone, table):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    X, y, model = moons
    space, run = teacher
    for draw in (
        lambda: plotting.BilliardDisplay.from_result(cone[2], cone[0]),
        lambda: plotting.WallsDisplay.from_result(run),
        lambda: plotting.TuningDisplay.from_result(model.tuning_),
        lambda: plotting.OnionDisplay.from_result(table),
        lambda: plotting.RejectionDisplay.from_estimator(model, X, y),
        lambda: plotting.ConvergenceDisplay.from_result(run, space),
    ):
        with pytest.raises(ImportError, match=r"pip install matplotlib"):
            draw()
