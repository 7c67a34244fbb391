"""The estimator: scikit-learn's conventions, kernels, classes, noise, reproducibility."""

import re
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import BayesPointClassifier, BilliardResult, InfeasibleError, kernels
from bayespoint.base import linalg
from bayespoint.blocks import Blocks
from bayespoint.estimators import progress
from bayespoint.posterior import several
from helpers import seed, without_evidence

IRIS = load_iris(return_X_y=True)


@parametrize_with_checks(
    [
        BayesPointClassifier(),
        BayesPointClassifier(kernel="linear", softness=1.0),
        BayesPointClassifier(kernel=kernels.RBF(2.0), softness=0.1, label_noise=0.05, n_jobs=2),
        BayesPointClassifier(kernel=gp.RBF(2.0, "fixed"), class_weight="balanced", softness=10.0),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "Weights are relative, and repeated rows are other observations: test_sample_weight.py.",
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # max_iter=1000
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n=120, index=0):
    x, y = make_blobs(n, centers=[[0, 0], [2, 2]], random_state=seed(index))
    return x, y, x + np.random.default_rng(seed(index)).standard_normal(x.shape)


# --- fitted attributes ---


def test_attributes():
    x, y, _ = blobs()
    model = BayesPointClassifier(random_state=seed(0), n_models=1).fit(x, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.dual_coef_.shape == (1, 120)
    assert model.intercept_ == pytest.approx(model.dual_coef_.sum())
    assert model.n_features_in_ == 2
    assert model.softness_ == model.tuning_.softness
    assert model.label_noise_ == (0.0, 0.0)
    assert model.kernel_ == model.tuning_.kernel
    assert isinstance(model.calibration_, float)
    assert isinstance(model.n_iter_, int)
    assert isinstance(model.billiard_, BilliardResult)
    np.testing.assert_array_equal(model.support_, model.billiard_.support)
    plain = BayesPointClassifier(kernels.RBF(2.0), softness=0.1, standardize=False).fit(x, y)
    assert (plain.kernel_, plain.softness_, plain.tuning_) == (kernels.RBF(2.0), 0.1, None)
    np.testing.assert_array_equal(plain.X_fit_, x)
    assert not np.shares_memory(plain.X_fit_, x)
    assert not BayesPointClassifier(fit_intercept=False).fit(x, y).intercept_.any()


FITS = {
    "default": ({}, 2),
    "one model": ({"n_models": 1}, 2),
    "landmarks": ({"approximation": "landmarks", "n_components": 20}, 2),
    "three classes": ({}, 3),
    "blocks of a table": ({"n_components": 20}, 2),
}


@pytest.mark.parametrize("kind", FITS)
def test_every_kind_of_fit_makes_each_model_by_one_function(kind, monkeypatch):
    made = []

    def counted(*args, **fit):
        made.append(several_fit(*args, **fit))
        return made[-1]

    several_fit = several.fit_model
    monkeypatch.setattr(several, "fit_model", counted)
    settings, n_classes = FITS[kind]
    x, y = IRIS[0][:, :2], np.minimum(IRIS[1], n_classes - 1)
    inputs = Blocks([x[::2], x[1::2]]) if "blocks" in kind else x
    labels = Blocks([y[::2], y[1::2]]) if "blocks" in kind else y
    model = BayesPointClassifier(random_state=seed(0), tol=0.3, **settings).fit(inputs, labels)
    assert len(made) == len(model.models_)
    assert {id(one) for one in made} == {id(one) for one in model.models_}
    assert (len(made) > 1) == (kind in ("default", "three classes"))


def test_the_sign_of_z_is_that_of_the_bayes_point():
    """`predict` agrees with it; a tie goes to the first class."""
    x, y, points = blobs()
    model = BayesPointClassifier(random_state=seed(0), standardize=False, n_models=1).fit(x, y)
    z = model.decision_function(points)
    expansion = model.kernel_(points, x) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_array_equal(z > 0, expansion > 0)
    np.testing.assert_array_equal(model.predict(points), (z > 0).astype(int))
    homogeneous = BayesPointClassifier(
        kernels.RBF(1.0), fit_intercept=False, random_state=seed(0), standardize=False
    )
    homogeneous.fit(x, y + 5)
    far = np.array([[1e3, 1e3]])
    assert homogeneous.decision_function(far).tolist() == [0.0]
    assert homogeneous.predict(far).tolist() == [5]
    np.testing.assert_allclose(homogeneous.predict_proba(far), [[0.5, 0.5]])


def test_one_dimension_is_refused():
    """A billiard needs two dimensions; an intercept or softness adds some."""
    model = BayesPointClassifier("linear", fit_intercept=False, softness=0.0)
    with pytest.raises(ValueError, match="must be of two dimensions or more"):
        model.fit([[1.0], [-2.0]], [0, 1])
    assert model.set_params(softness=0.1).fit([[1.0], [-2.0]], [0, 1]).predict([[3.0]]) == [0]


def test_probabilities_are_calibrated_better_than_the_base_rate():
    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    model = BayesPointClassifier(random_state=seed(0)).fit(x[::2], y[::2])
    base = log_loss(y[1::2], np.full(len(y[1::2]), y[::2].mean()))
    for method in ("moments", "mixture"):
        loss = log_loss(y[1::2], model.predict_proba(x[1::2], method=method))
        assert loss < base / 3
    moments = model.predict_proba(x[1::2])
    np.testing.assert_allclose(moments, model.predict_proba(x[1::2], method="mixture"), atol=0.1)
    # 1 minus a probability close to 1 has few digits.
    logs = model.predict_log_proba(x[1::2])
    np.testing.assert_allclose(np.log(moments), logs, rtol=1e-9, atol=1e-15)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes; got one class: 3"):
        BayesPointClassifier().fit(np.eye(4), [3, 3, 3, 3])


# --- kernels ---


@pytest.mark.parametrize("classes", [2, 3])
def test_precomputed_equals_rbf(classes):
    x, y = IRIS[0], np.minimum(IRIS[1], classes - 1)
    points = x[::3] + 0.1
    given = {"softness": 0.1, "random_state": seed(0)}
    model = BayesPointClassifier(kernel=kernels.RBF(1.5), **given, standardize=False).fit(x, y)
    gram = kernels.RBF(1.5)(x)
    before = gram.copy()
    other = BayesPointClassifier(kernel="precomputed", **given).fit(gram, y)
    np.testing.assert_array_equal(gram, before)
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    k_star = kernels.RBF(1.5)(points, x)
    np.testing.assert_allclose(
        other.decision_function(k_star), model.decision_function(points), rtol=1e-9
    )
    np.testing.assert_array_equal(other.predict(k_star), model.predict(points))
    np.testing.assert_allclose(
        other.predict_proba(k_star, diag=np.ones(len(points))),
        model.predict_proba(points),
        rtol=1e-9,
    )
    assert other.X_fit_ is None
    assert other.kernel_ == "precomputed"


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_precomputed_needs_the_values_on_the_diagonal(classes):
    x, y = IRIS[0], np.minimum(IRIS[1], classes - 1)
    points = x[::3] + 0.1
    model = BayesPointClassifier("linear", standardize=False, random_state=seed(0)).fit(x, y)
    other = BayesPointClassifier(kernel="precomputed", random_state=seed(0))
    other.fit(linear_kernel(x), y)
    k_star = linear_kernel(points, x)
    diag = (points**2).sum(axis=1)
    np.testing.assert_allclose(
        other.decision_function(k_star, diag=diag), model.decision_function(points), rtol=1e-6
    )
    np.testing.assert_array_equal(other.predict(k_star, diag=diag), model.predict(points))
    mean = np.full(50, (x**2).sum(axis=1).mean())
    for method in (other.decision_function, other.predict_proba, other.predict_log_proba):
        with pytest.warns(UserWarning, match=r"its mean over the training matrix, .* is assumed"):
            np.testing.assert_allclose(method(k_star), method(k_star, diag=mean), rtol=1e-12)
    for wrong in (diag[1:], np.full(50, np.nan)):
        with pytest.raises(ValueError, match="diag must"):
            other.decision_function(k_star, diag=wrong)
    with pytest.raises(ValueError, match="diag must be None unless"):
        model.decision_function(points, diag=diag)
    # Predictions without these values are possible, and differ little.
    assert np.mean(other.predict(k_star) == model.predict(points)) > 0.9


@pytest.mark.parametrize(
    ("gram", "text"),
    [
        (np.ones((6, 5)), "a square matrix"),
        (np.triu(np.ones((6, 6))), "symmetric"),
        (6 * np.eye(6) - 3, "positive semidef"),
    ],
)
def test_precomputed_is_checked(gram, text):
    with pytest.raises(ValueError, match=f"X .*{text}"):
        BayesPointClassifier(kernel="precomputed").fit(gram, np.resize([0, 1], 6))


def test_callables():
    x, y, points = blobs()
    runs = {"softness": 0.1, "tol": 0.02, "n_draws": 1000, "random_state": seed(0)}
    named = BayesPointClassifier(kernel=kernels.RBF(1.3), **runs).fit(x, y)

    def mine(a, b):
        return rbf_kernel(a, b, gamma=1 / (2 * 1.3**2))

    for kernel in (mine, gp.RBF(1.3, "fixed")):
        model = BayesPointClassifier(kernel=kernel, **runs).fit(x, y)
        z = model.decision_function(points)
        np.testing.assert_allclose(z, named.decision_function(points), atol=0.15)
    for wrong, text in (
        (lambda a, b: mine(a, b)[:3], r"must have shape \(120, 120\)"),
        (lambda a, b: mine(a, b + 1), "must be symmetric"),
        (lambda a, b: 2 * mine(a, a).max() - mine(a, b), "positive semidefinite"),
    ):
        with pytest.raises(ValueError, match=rf"kernel\(X, [XY]\) .*{text}"):
            BayesPointClassifier(kernel=wrong).fit(x, y)


# --- softness, noise, weights ---


def test_hard_boundary_needs_separable_examples():
    x, y = make_blobs(120, centers=[[0, 0], [2, 2]], random_state=0)
    with pytest.raises(InfeasibleError, match="softness"):
        BayesPointClassifier(kernel="linear", softness=0.0, standardize=False).fit(x, y)
    twice, labels = np.vstack([x[:20], x[:20]]), np.append(y[:20], 1 - y[:20])
    for kernel in (None, "rbf"):
        with pytest.raises(InfeasibleError, match="because of examples 0 and 20 alone"):
            BayesPointClassifier(kernel, softness=0.0, standardize=False).fit(twice, labels)
    # Either kind of noise explains them. A third label at each point determines the center, since
    # two opposite labels cancel.
    thrice, labels = np.vstack([twice, x[:20]]), np.append(labels, y[:20])
    for settings in ({"softness": 0.1}, {"softness": 0.0, "label_noise": 0.2}):
        model = BayesPointClassifier(kernels.RBF(0.3), random_state=seed(0), **settings)
        model.set_params(standardize=False).fit(thrice, labels)


def test_a_search_without_any_evidence_keeps_the_kernel_of_its_start(monkeypatch):
    """As without softness, where rounding may leave a matrix that is not positive definite."""
    x, y, _ = blobs(40)
    without_evidence(monkeypatch)
    model = BayesPointClassifier("rbf", softness=0.0, label_noise=0.2, random_state=seed(0))
    with pytest.warns(ConvergenceWarning, match="the search for hyperparameters found no"):
        model.set_params(standardize=False).fit(x, y)
    assert model.kernel_ == kernels.at_start(kernels.RBF(), x)
    assert model.tuning_ is None


def test_label_noise_bounds_the_probabilities():
    x, y, points = blobs()
    model = BayesPointClassifier(label_noise=(0.1, 0.3), random_state=seed(0)).fit(x, y)
    assert model.label_noise_ == (0.1, 0.3)
    for method in ("moments", "mixture"):
        probability = model.predict_proba(points, method=method)[:, 1]
        assert probability.min() >= 0.1
        assert probability.max() <= 0.7
    assert model.billiard_.mean_violations > 0
    with pytest.raises(ValueError, match="label_noise must be one rate for more than two"):
        BayesPointClassifier(label_noise=(0.1, 0.3)).fit(*IRIS)
    assert BayesPointClassifier(label_noise=0.1, random_state=seed(0)).fit(*IRIS).score(*IRIS) > 0.8


def test_label_noise_of_a_class_changes_sides_with_the_labels():
    """Noise (a, b) with labels y is noise (b, a) with the classes renamed."""
    x, y, points = blobs(60)
    runs = {"tol": 0.01, "n_draws": 1000, "random_state": seed(0)}
    one = BayesPointClassifier(label_noise=(0.0, 0.3), **runs).fit(x, y)
    two = BayesPointClassifier(label_noise=(0.3, 0.0), **runs).fit(x, 1 - y)
    wrong = BayesPointClassifier(label_noise=(0.3, 0.0), **runs).fit(x, y)
    p = one.predict_proba(points)[:, 1]
    np.testing.assert_allclose(two.predict_proba(points)[:, 0], p, atol=0.05)
    assert np.abs(wrong.predict_proba(points)[:, 1] - p).max() > 0.1


# --- reproducibility, storage, pipelines ---


def test_in_searches():
    x, y, _ = blobs()
    model = BayesPointClassifier(softness=0.1, random_state=seed(0))
    grid = {"kernel": [kernels.RBF(0.1), kernels.RBF(2.0)]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss").fit(x, y)
    assert search.best_params_ == {"kernel": kernels.RBF(2.0)}
    model = BayesPointClassifier(kernel="precomputed", random_state=seed(0))
    assert cross_val_score(model, rbf_kernel(x), y, cv=3, scoring="neg_log_loss").mean() > -0.6


def test_the_inputs_are_not_kept_nor_changed():
    x, y, points = blobs()
    copies = x.copy(), y.copy()
    model = BayesPointClassifier(random_state=seed(0)).fit(x, y)
    np.testing.assert_array_equal(x, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    before = model.decision_function(points)
    x[:] = 0
    np.testing.assert_array_equal(model.decision_function(points), before)


def test_a_kernel_keeps_the_matrix_it_returned():
    """A matrix that a callable keeps is not overwritten by its factor."""
    x, y, _ = blobs(40)
    cache = {}

    def caching(a, b):
        key = a.tobytes() + b.tobytes()
        return cache.setdefault(key, rbf_kernel(a, b))

    one = BayesPointClassifier(kernel=caching, random_state=seed(0), standardize=False).fit(x, y)
    two = BayesPointClassifier(kernel=caching, random_state=seed(0), standardize=False).fit(x, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(cache[x.tobytes() + x.tobytes()], rbf_kernel(x, x))


@pytest.mark.parametrize("softness", [0.1, None])
def test_the_kernel_matrix_is_computed_once(softness):
    """The fit uses the matrix that the search for the softness has computed."""
    shapes = []

    def kernel(a, b):
        shapes.append((len(a), len(b)))
        return rbf_kernel(a, b)

    x, y, _ = blobs()
    BayesPointClassifier(kernel, softness=softness, random_state=seed(0)).fit(x, y)
    assert shapes == [(120, 120)]


def test_verbose(capsys):
    x, y, _ = blobs()

    def said(*args, **settings):
        model = BayesPointClassifier(*args, random_state=seed(0), **settings)
        model.fit(x, y)
        output = capsys.readouterr()
        assert output.out == ""
        return output.err.splitlines()

    search, matrix, billiard = said("rbf", verbose=1)
    assert search.startswith("search by evidence: ")
    assert matrix.startswith("kernel matrix and factor of 120 examples: ")
    assert re.match(r"billiard: \d+ bounces, .* s: center_error 0.0\d+ rad \(tol 0.03\)", billiard)
    assert said("rbf") == []
    lines = said(verbose=1)
    assert lines[0].startswith("8 settings of the hyperparameters, ")
    assert sum(line.startswith("billiard") for line in lines) == 8
    assert [line.split()[0] for line in said(kernels.RBF(1.5), softness=0.1, verbose=1)] == [
        "kernel",
        "billiard:",
    ]


def every_step(bar):
    """Return an __init__ of bars that are drawn at every step, also in a short fit."""
    whole = bar.__init__

    def init(self, *args, **settings):
        whole(self, *args, **{**settings, "mininterval": 0, "miniters": 1})

    return init


def test_progress_bars(capsys, monkeypatch):
    x, y, _ = blobs()
    monkeypatch.setattr(progress.Bar, "__init__", every_step(progress.Bar))
    model = BayesPointClassifier(random_state=seed(0), verbose=2, tol=0.0015, n_models=1)
    model.fit(x, y)
    err = capsys.readouterr().err
    assert re.search(r"search by evidence: \d+ settings, .* on 120 of 120 examples, log_ev", err)
    assert re.search(r"billiard: +\d+%.*, \d+ bounces, center_error [\d.]+ rad \(tol 0.0015\)", err)
    assert "softness=" not in err
    assert "nan" not in err
    order = ["search", "kernel matrix:", "factor of the", "inverse of the", "billiard"]
    assert sorted(order, key=err.index) == order
    model.set_params(verbose=3, tol="auto").fit(x, y)
    assert re.search(r"kernel.0.kernel.sigma=[\d.]+, .*softness=", capsys.readouterr().err)


def test_the_bar_of_a_search_says_on_how_many_examples_it_is(capsys, monkeypatch):
    """It begins on a part; the evidence of all is another one, smaller than the best before."""
    x = np.random.default_rng(seed(0)).standard_normal((1500, 2))
    monkeypatch.setattr(progress.Bar, "__init__", every_step(progress.Bar))
    model = BayesPointClassifier(random_state=seed(0), verbose=2, tol=0.3, n_models=1)
    model.fit(x, x[:, 0] + 0.5 * x[:, 1] ** 2 > 0.3)
    found = re.findall(
        r"on (\d+) of 1500 examples, log_evidence (-[\d.]+)", capsys.readouterr().err
    )
    assert list(dict.fromkeys(n for n, _ in found)) == ["1000", "1500"]
    tried = model.tuning_.tried[model.tuning_.tried[:, -2] == 1500, -1]
    assert float(found[-1][1]) == round(tried.max(), 2)


def test_the_bar_of_a_matrix_moves():
    """The shares of a blocked factor and inverse rise to one."""
    matrix = np.eye(3100)
    shares, inverses = [], []
    factor = linalg.factorize(matrix, 0.0, np.full(3100, 0.1), report=shares.append)
    factor.inverse_diagonal(inverses.append)
    for given in (shares, inverses):
        assert len(given) > 5
        assert given == sorted(given)
        assert 0 < given[0] < 0.3
        assert given[-1] == pytest.approx(1.0)


# --- budgets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_models", [1, "auto"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_max_time_ends_search_and_billiards(n_classes, n_models):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(300) > 0.5).astype(int)
    y += (n_classes == 3) * (X[:, 2] > 1)
    began = time.monotonic()
    model = BayesPointClassifier(tol=1e-9, max_time=1.0, random_state=0, n_models=n_models)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert time.monotonic() - began < 15.0
    text = " ".join(str(one.message) for one in caught)
    assert "when max_time ended the run" in text
    assert model.billiard_.stop_reason == "max_time"
    assert model.score(X, y) > 0.6
    assert np.isfinite(model.predict_proba(X)).all()
    # One evaluation, and a moment for each billiard.
    with pytest.warns(ConvergenceWarning) as caught:
        short = BayesPointClassifier(max_time=1e-6, random_state=0, n_models=n_models).fit(X, y)
    text = "max_time ended the search for hyperparameters after 1 settings"
    assert any(text in str(one.message) for one in caught)
    assert np.isfinite(short.predict_proba(X)).all()
    assert len(short.tuning_.tried) == 1


def test_max_iter_limits_search_and_bounces():
    X, y = make_moons(400, noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model = BayesPointClassifier(max_iter=7, random_state=0, n_models=1).fit(X, y)
    texts = " ".join(str(one.message) for one in caught)
    assert "max_iter ended the search for hyperparameters after 7 settings" in texts
    assert "when max_bounces (a classifier's max_iter) ended" in texts
    tried = model.tuning_.tried
    assert len(tried) == 7
    assert model.tuning_.log_evidence == tried[:, -1].max()
    # The softness is found relative to the variance, which differs on all examples.
    assert model.softness_ == pytest.approx(tried[tried[:, -1].argmax(), -5], rel=0.1)
    assert model.billiard_.stop_reason == "max_bounces"
    assert model.n_iter_ == model.billiard_.bounces.max() <= 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = BayesPointClassifier(random_state=0).fit(X, y)
        ample = BayesPointClassifier(random_state=0, max_iter=10**7, max_time=1e6).fit(X, y)
    np.testing.assert_array_equal(free.dual_coef_, ample.dual_coef_)


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"max_iter": 0}, ValueError),
        ({"max_iter": 1.5}, TypeError),
        ({"max_iter": np.timedelta64(9)}, TypeError),  # a number to Python
        ({"max_time": 0}, ValueError),
        ({"max_time": np.timedelta64(9)}, TypeError),
    ],
)
def test_budgets_out_of_range(setting, error):
    with pytest.raises(error, match=f"{next(iter(setting))} must be"):
        BayesPointClassifier(**setting).fit(*make_moons(20, random_state=0))
