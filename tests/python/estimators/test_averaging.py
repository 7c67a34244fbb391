"""Classifiers that average over settings of their hyperparameters."""

import copy
import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, special

from bayespoint import BayesPointClassifier, kernels
from bayespoint.posterior import Mixture
from bayespoint.posterior.evidence import log_labeling_probability
from bayespoint.tuning.climbing import stacked
from helpers import seed

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 4))
Y = np.where(X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=90) > 0, "b", "a")
NEW = RNG.normal(size=(40, 4))


@pytest.fixture(scope="module")
def model():
    return BayesPointClassifier(random_state=seed(0), n_models=4).fit(X, Y)


def test_probabilities_are_the_averages(model):
    assert len(model.models_) == len(model.model_weights_) == 4
    assert model.model_weights_.sum() == pytest.approx(1.0)
    assert (np.diff(model.model_weights_) <= 0).all()
    each = np.stack([one.predict_proba(NEW) for one in model.models_])
    mean = np.tensordot(model.model_weights_, each, 1)
    np.testing.assert_allclose(model.predict_proba(NEW), mean, atol=1e-12)
    z = model.decision_function(NEW)
    np.testing.assert_allclose(special.ndtr(z), mean[:, 1], atol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), model.classes_[mean.argmax(axis=1)])
    mixed = np.exp([one.log_proba(NEW, mixture=True) for one in model.models_])
    found = model.predict_proba(NEW, method="mixture")
    np.testing.assert_allclose(found, np.tensordot(model.model_weights_, mixed, 1), atol=1e-12)
    votes = np.stack([one.votes(NEW) for one in model.models_])
    np.testing.assert_allclose(
        model.posterior_.votes(NEW), np.tensordot(model.model_weights_, votes, 1)
    )


def test_what_concerns_one_model_is_of_the_first(model):
    first = model.models_[0]
    assert model.kernel_ is first.hyper.kernel
    assert (model.softness_, model.tuning_) == (first.hyper.softness, first.hyper.search)
    assert (model.calibration_, model.scaler_) == (first.calibration, first.hyper.transform)
    assert model.billiard_ is first.draws.run
    np.testing.assert_array_equal(model.dual_coef_[0], first.draws.center)
    for name in ("kernel_", "models_", "billiard_", "dual_coef_", "classes_"):
        with pytest.raises(AttributeError):
            setattr(model, name, None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_number_of_threads_changes_no_bit_of_any_model(n_classes):
    labels = np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.5, 0.5][: n_classes - 1])
    one, two = (
        BayesPointClassifier(random_state=seed(0), n_models=4, tol=0.3, n_jobs=n).fit(X, labels)
        for n in (1, 2)
    )
    assert len(one.models_) == 4
    np.testing.assert_array_equal(one.model_weights_, two.model_weights_)
    for a, b in zip(one.models_, two.models_, strict=True):
        assert (a.hyper.kernel, a.calibration) == (b.hyper.kernel, b.calibration)
        np.testing.assert_array_equal(a.draws.run.draws, b.draws.run.draws)
        np.testing.assert_array_equal(a.draws.center, b.draws.center)
    np.testing.assert_array_equal(one.predict_proba(NEW), two.predict_proba(NEW))
    other = BayesPointClassifier(random_state=seed(1), n_models=4, tol=0.3).fit(X, labels)
    assert not np.array_equal(other.dual_coef_, one.dual_coef_)


def test_functions_are_of_all_models(model):
    assert model.sample_functions(NEW, random_state=seed(1)).shape == (100, 40)
    plain = BayesPointClassifier(
        random_state=seed(0), n_models=4, n_draws=100, calibration=None
    ).fit(X, Y)
    share = (plain.sample_functions(NEW, random_state=seed(1)) > 0).mean(axis=0)
    assert np.abs(share - plain.predict_proba(NEW)[:, 1]).max() < 0.15


def test_class_weights_multiply_the_averages(model):
    weighted = BayesPointClassifier(
        random_state=seed(0), n_models=4, class_weight={"a": 3.0, "b": 1.0}
    ).fit(X, Y)
    p = model.predict_proba(NEW) * [3.0, 1.0]
    np.testing.assert_allclose(
        weighted.predict_proba(NEW), p / p.sum(axis=1, keepdims=True), atol=1e-9
    )


def test_one_model_is_the_plain_one():
    plain = BayesPointClassifier(random_state=seed(0), n_models=1).fit(X, Y)
    assert np.isnan(plain.posterior_.seed_error)
    assert plain.model_weights_.tolist() == [1.0]
    np.testing.assert_array_equal(plain.predict_proba(NEW), plain.models_[0].predict_proba(NEW))


def test_weights_follow_the_better_model():
    left_out = np.array([np.full(50, 0.9), np.full(50, 0.5)])
    np.testing.assert_allclose(stacked(left_out), [0.75, 0.25], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_models": 0}, "n_models must be"),
        ({"n_models": 1.5}, "n_models must be"),
        ({"n_models": "all"}, "n_models must be"),
        ({"n_models": 3, "kernel": kernels.RBF(2.0), "softness": 0.5}, "if nothing is left to"),
        ({"n_models": 3, "kernel": "precomputed"}, "with kernel='precomputed'"),
    ],
)
def test_wrong_numbers_are_refused(settings, text):
    with pytest.raises((TypeError, ValueError), match=text):
        BayesPointClassifier(**settings).fit(X @ X.T if settings.get("kernel") else X, Y)


@pytest.mark.parametrize(
    ("kernel", "n_features"),
    [
        (kernels.RBF(per_feature=True), 4),
        (kernels.Weighted(kernels.Polynomial(2)), 4),
        # Two scales of each feature are not one relevance.
        (kernels.RBF(per_feature=True) + kernels.Matern(per_feature=True), None),
        (kernels.Weighted(kernels.RBF()) + kernels.Weighted(kernels.Linear()), None),
    ],
    ids=repr,
)
def test_kernels_of_any_form_are_averaged(kernel, n_features):
    for inputs in (X, sparse.csr_array(X * (X > 0))) if kernels.accepts_sparse(kernel) else (X,):
        model = BayesPointClassifier(kernel, random_state=seed(0), n_models=2, tol=0.3)
        model.fit(inputs, Y)
        assert len({one.hyper.kernel for one in model.models_}) == 2
        if n_features:
            assert model.feature_relevance_.mean.shape == (n_features,)
        else:
            with pytest.raises(AttributeError, match="feature_relevance_ needs"):
                _ = model.feature_relevance_


def test_a_kernel_without_lengths_of_features_has_one_model_by_default():
    assert len(BayesPointClassifier("rbf", random_state=seed(0)).fit(X, Y).models_) == 1


def test_refined_models_are_averaged(model):
    refined = copy.deepcopy(model).refine(tol=0.01)
    assert len(refined.models_) == 4
    assert refined.billiard_.length > model.billiard_.length
    assert np.abs(refined.predict_proba(NEW) - model.predict_proba(NEW)).max() < 0.1


def alone(model, class_weight=None):
    """Return a posterior of one model."""
    return Mixture((model,), np.ones(1), class_weight)


def test_joint_labels_are_averaged(model):
    found = model.log_labeling_probability(NEW[:2], model.predict(NEW[:2]), random_state=seed(0))
    given = {"tol": 0.2, "max_length": 1e5, "n_jobs": None}
    p = [
        log_labeling_probability(
            alone(one), NEW[:2], model.predict(NEW[:2]), **given, random_state=seed(k)
        )
        for k, one in enumerate(model.models_)
    ]
    mean = np.log(model.model_weights_ @ np.exp([one.value for one in p]))
    assert abs(found.value - mean) < 4 * np.hypot(found.error, max(one.error for one in p))


def odd_features(name):
    """Return inputs of training and test, with labels, whose features are odd in some way."""
    rng = np.random.default_rng(seed(7))
    x = rng.normal(size=(480, 3))
    y = (x[:, 0] + np.sin(2 * x[:, 1]) > 0).astype(int)
    groups = rng.integers(0, 4, 480)
    inputs = {
        "constant": np.c_[x, np.full(480, 3.0)],
        "duplicate": np.c_[x, x[:, 0]],
        "one-hot": np.c_[x, np.eye(4)[groups]],
        "heavy tails": np.c_[x, rng.standard_cauchy((480, 1))],
        "tiny": 1e-12 * x,
        "huge": 1e12 * x + 1e13,
        "all constant": np.ones((480, 2)),
    }
    if name == "one-hot":
        y = np.where(groups == 2, 1 - y, y)
    given = inputs[name]
    return given[:180], y[:180], given[180:], y[180:]


@pytest.mark.parametrize("standardize", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "name", ["constant", "duplicate", "one-hot", "heavy tails", "tiny", "huge", "all constant"]
)
def test_odd_features(name, standardize):
    inputs, labels, new, truth = odd_features(name)
    model = BayesPointClassifier(random_state=seed(0), tol=0.1, standardize=standardize)
    with warnings.catch_warnings():
        if name == "heavy tails" and not standardize:
            # A length at the scale of the outliers is too long for the others.
            warnings.filterwarnings("ignore", "the search for hyperparameters ended at")
        model.fit(inputs, labels)
    p = model.predict_proba(new)
    assert np.isfinite(p).all()
    relevance = model.feature_relevance_
    if name == "all constant":
        np.testing.assert_allclose(p[:, 1], labels.mean(), atol=0.1)
        assert not relevance.mean.any()
        return
    assert model.score(new, truth) > (0.75 if name == "heavy tails" and not standardize else 0.85)
    if name == "constant":
        assert relevance.mean[3] == 0.0
        assert relevance.ranking[-1] == 3


@pytest.mark.parametrize("m", [2, 10])
def test_few_examples(m):
    few = np.r_[X[Y == "a"][: m // 2], X[Y == "b"][: m // 2]]
    model = BayesPointClassifier(random_state=seed(0)).fit(few, [0] * (m // 2) + [1] * (m // 2))
    p = model.predict_proba(NEW)
    assert np.isfinite(p).all()
    assert 0.5 < p.max() < 0.99


def test_one_example_of_a_class():
    labels = np.arange(90) == 4
    model = BayesPointClassifier(random_state=seed(0)).fit(X, labels)
    assert 4 <= len(model.models_) <= 8
    assert model.predict_proba(NEW)[:, 1].mean() < 0.05
    kinds = np.where(labels, "rare", Y)
    several = BayesPointClassifier(random_state=seed(0)).fit(X, kinds)
    assert several.predict_proba(NEW)[:, 2].mean() < 0.1


@pytest.mark.parametrize(("n_classes", "label_noise"), [(2, None), (3, 0.1)])
def test_averages_are_those_after_label_noise(n_classes, label_noise):
    rng = np.random.default_rng(seed(3))
    labels = np.where(rng.random(90) < 0.1, rng.permutation(Y), Y)
    if n_classes == 3:
        labels = np.where(X[:, 2] > 0.5, "c", labels)
    model = BayesPointClassifier(
        label_noise=label_noise, n_models=4, random_state=seed(0), tol=0.3, n_draws=50
    ).fit(X, labels)
    for method in ("moments", "mixture"):
        each = np.exp([one.log_proba(NEW, mixture=method == "mixture") for one in model.models_])
        mean = np.tensordot(model.model_weights_, each, 1)
        found = model.predict_proba(NEW, method=method)
        np.testing.assert_allclose(found, mean, atol=1e-10)


def test_gibbs_predictions_are_of_the_models():
    labels = (X[:, 0] + RNG.normal(size=90) > 0).astype(int)
    model = BayesPointClassifier(
        n_models=3, class_weight={0: 1.0, 1: 5.0}, random_state=seed(0), tol=0.3
    ).fit(X, labels)
    model.random_state = np.random.default_rng(seed(0))
    points = NEW[:10]
    own = np.mean([model.predict(points, method="gibbs") for _ in range(200)], axis=0)
    each = []
    for one in model.models_:
        part, rng = alone(one, np.array([0.2, 1.0])), np.random.default_rng(seed(1))
        draws = [part.predict(points, method="gibbs", random_state=rng) for _ in range(200)]
        each.append(np.mean(draws, axis=0))
    expected = np.tensordot(model.model_weights_, each, 1)
    assert np.abs(own - expected).max() < 5 * np.sqrt(0.25 * 2 / 200)


def test_certain_probabilities_are_at_most_one():
    x = np.random.default_rng(seed(2)).normal(size=(80, 2))
    model = BayesPointClassifier(
        kernels.Scaled(kernels.Linear()), n_models=5, random_state=seed(2), tol=1.0, n_draws=50
    ).fit(x, x[:, 0] > 0)
    p = model.predict_proba([[50.0, 0.0], [-50.0, 0.0]], method="mixture")
    assert np.isfinite(p).all()
    assert p.max() <= 1.0


def test_given_weights_scale_the_start_of_the_search():
    found = [
        BayesPointClassifier(
            kernels.Weighted(kernels.RBF(), [scale] * 4), random_state=seed(0), tol=0.3
        )
        .fit(X, Y)
        .tuning_.log_evidence
        for scale in (1e-3, 1.0, 1e3)
    ]
    np.testing.assert_allclose(found, found[1], atol=0.05)
    for inner in (kernels.Polynomial(2), kernels.RBF() * kernels.RBF()):
        BayesPointClassifier(kernels.Weighted(inner, [1.0] * 4), tol=0.3).fit(X, Y)


@pytest.mark.parametrize("scale", [1e-154, 1e154])
def test_extreme_scales_are_averaged(scale):
    with np.errstate(all="ignore"):
        model = BayesPointClassifier(random_state=seed(0), standardize=False, tol=0.3)
        if scale > 1:  # the linear kernel has no values
            with pytest.raises(ValueError, match="must be finite"):
                model.fit(scale * X, Y)
            return
        assert model.fit(scale * X, Y).score(scale * X, Y) > 0.8


def test_a_chain_far_from_the_origin_moves():
    model = BayesPointClassifier(
        kernels.Weighted(kernels.Scaled(kernels.Matern(nu=2.5))),
        n_models=4,
        standardize=False,
        random_state=seed(0),
        tol=0.3,
    ).fit(X + 1e8, Y)
    assert len({one.hyper.kernel for one in model.models_}) > 1
    assert model.feature_relevance_.ranking[0] in (0, 1)


def test_functions_of_models_with_different_numbers_of_draws(model):
    """A limit leaves a model fewer draws: functions are as many as the first model has."""
    first, second = model.models_[:2]
    fewer = replace(second.draws.run, draws=second.draws.run.draws[:, :50])
    short = replace(second, draws=replace(second.draws, run=fewer))
    for models in ((first, short), (short, first)):
        posterior = Mixture(models, np.full(2, 0.5))
        found = posterior.sample_functions(model.scaler_.transform(NEW[:3]), random_state=0)
        assert found.shape == (len(models[0].draws), 3)


def test_the_error_of_an_average_is_told(model):
    assert 0 < model.posterior_.seed_error < 0.1
    assert model.posterior_.seed_error == model.tuning_.seed_error


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:another seed")
def test_another_seed_changes_new_probabilities_as_told():
    ratios = []
    for k in range(5):
        rng = np.random.default_rng(seed(k))
        points = rng.normal(size=(400, 3 + k))
        y = np.sin(2 * points[:, 0]) + points[:, 1] + 0.5 * rng.normal(size=400) > 0
        fits = [BayesPointClassifier(random_state=seed(j)) for j in range(4)]
        proba = [one.fit(points[:100], y[:100]).predict_proba(points[100:]) for one in fits]
        changes = [np.abs(a - b).mean() for a, b in itertools.combinations(proba, 2)]
        stated = np.mean([one.posterior_.seed_error for one in fits])
        ratios.append(np.mean(changes) / stated)
    assert 0.6 < np.exp(np.log(ratios).mean()) < 1.6, ratios


def test_sparse_inputs_have_a_linear_kernel_by_default():
    rows = sparse.random(120, 300, density=0.05, random_state=seed(3), format="csr")
    labels = np.asarray(rows[:, :20].sum(axis=1)).ravel() > rows[:, :20].sum() / 120
    model = BayesPointClassifier(random_state=seed(0)).fit(rows, labels)
    assert isinstance(model.kernel_.kernel, kernels.Linear)
    assert model.scaler_ is None
    assert model.score(rows, labels) > 0.8
