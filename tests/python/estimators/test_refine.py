"""Fits that continue: longer runs, more examples, other settings."""

import copy
import os
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from bayespoint import BayesPointClassifier, InfeasibleError, VersionSpace, kernels
from bayespoint.engine import sampling

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n_classes=2, n=90, seed=0):
    return make_classification(
        n,
        5,
        n_informative=3,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=SEED + seed,
    )


def separable(n=90, d=4):
    """Separable examples on a singular matrix, for which a start has to be found."""
    X = np.random.default_rng([SEED, d]).standard_normal((n, d))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0.2).astype(int)


PLANE = {"kernel": kernels.Linear(), "softness": 0.0, "tol": 0.3}


def model(**settings):
    given = {"kernel": kernels.RBF(1.5), "softness": 0.1, "random_state": SEED}
    return BayesPointClassifier(**given | settings, standardize=False)


def results(fitted):
    return [problem.result for problem in fitted.problems_]


def same(a, b, X):
    for name in ("dual_coef_", "intercept_", "support_", "calibration_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(
        a.predict_proba(X, method="mixture"), b.predict_proba(X, method="mixture")
    )


# --- refine ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "settings",
    [{}, {"softness": 0.0}, {"label_noise": 0.05}, {"calibration": "leave-one-out"}],
    ids=["soft", "hard", "noise", "calibrated"],
)
def test_the_number_of_steps_does_not_change_the_result(n_classes, settings):
    X, y = data(n_classes)
    if settings.get("softness") == 0.0:  # surely separable
        settings = settings | {"kernel": kernels.RBF(0.5)}
    fitted = model(**settings).fit(X, y)
    once = copy.deepcopy(fitted).refine(12.0)
    twice = pickle.loads(pickle.dumps(fitted)).refine(4.0).set_params(n_jobs=2).refine(8.0)
    same(once, twice, X)
    for new, old in zip(results(once), results(fitted), strict=True):
        assert new.length == pytest.approx(old.length + 12.0, rel=1e-12)
        assert new.draws.shape == old.draws.shape
        assert new.bounces.min() > old.bounces.min()
    assert not np.array_equal(once.dual_coef_, fitted.dual_coef_)


def test_a_smaller_tolerance_gives_the_bits_of_a_fit_with_it():
    X, y = data()
    refined = model(tol=0.2).fit(X, y).refine(tol=0.03)
    same(refined, model(tol=0.03).fit(X, y), X)
    # The tolerance has been reached already.
    before = refined.dual_coef_
    assert np.array_equal(refined.refine(tol=0.1).dual_coef_, before)


def test_refining_gets_nearer():
    X, y = data()
    settings = {"kernel": kernels.RBF(2.0), "tol": 0.2}
    exact = model(**settings | {"tol": 0.006, "random_state": SEED + 1}).fit(X, y)
    fitted = model(**settings).fit(X, y)
    refined = copy.deepcopy(fitted).refine(20 * fitted.billiard_.length)
    one = VersionSpace(kernels.RBF(2.0)(X), 2 * y - 1, softness=0.1, offset=1.0)
    gap = (refined.dual_coef_ - exact.dual_coef_)[0]
    error = refined.billiard_.center_error
    assert error < fitted.billiard_.center_error / 2
    assert np.sqrt(gap @ (one.margins(gap) * one.y)) < 5 * np.hypot(error, 0.006)


def test_after_a_search_the_setting_stays():
    X, y = data()
    fitted = BayesPointClassifier(random_state=SEED).fit(X, y)
    refined = copy.deepcopy(fitted).refine(5.0)
    assert refined.kernel_ == fitted.kernel_
    assert refined.softness_ == fitted.softness_
    assert refined.tuning_ is not None


def test_settings_changed_after_the_fit_are_ignored():
    X, y = data()
    fitted = model().fit(X, y)
    changed = copy.deepcopy(fitted).set_params(n_draws=7, n_trajectories=2, tol=0.5)
    same(fitted.refine(3.0), changed.refine(3.0), X)


def test_changed_threads_and_calibration_take_effect():
    X, y = data()
    fitted = model().fit(X, y)
    changed = copy.deepcopy(fitted).set_params(n_jobs=2, calibration="leave-one-out").refine(3.0)
    plain = fitted.refine(3.0)
    np.testing.assert_array_equal(changed.dual_coef_, plain.dual_coef_)
    assert (plain.calibration_ == 1.0).all()
    assert (changed.calibration_ != 1.0).all()


def test_a_longer_run_warns_of_few_draws():
    X, y = data()

    def messages(work):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
        return [str(each.message) for each in caught if each.category is ConvergenceWarning]

    fitted = model(tol=0.3)
    assert messages(lambda: fitted.fit(X, y)) == []
    assert messages(lambda: copy.deepcopy(fitted).refine(tol=0.2)) == []
    assert messages(lambda: fitted.refine(1.0)) == []
    short = model(tol=0.3, max_iter=60)
    assert any(
        "when max_bounces (a classifier's max_iter) ended" in text
        for text in messages(lambda: short.fit(X, y))
    )
    [text] = messages(lambda: short.refine(1.0))
    assert "R-hat" in text or "independent ones" in text


def test_the_intercept_must_be_that_of_the_fit():
    X, y = data(3)
    changed = model().fit(X, y)
    with pytest.raises(ValueError, match=r"fit_intercept must be True, as in the fit.* got False"):
        changed.set_params(fit_intercept=False).refine(1.0)


def test_a_matrix_has_to_be_given_again():
    X, y = data()
    gram = kernels.RBF(2.0)(X)
    fitted = model(kernel="precomputed").fit(gram, y)
    with pytest.raises(ValueError, match=r"gram must be the .* matrix given to fit"):
        fitted.refine(3.0)
    for other, text in [
        (gram**2, "fit this Gram matrix"),
        (2 * gram, "diagonal"),
        (-gram, "positive semidefinite|diagonal"),
        (np.nan * gram, "finite"),
    ]:
        with pytest.raises(ValueError, match=f"^gram must be the matrix given to fit: .*({text})"):
            copy.deepcopy(fitted).refine(3.0, gram=other)
    with pytest.raises(ValueError, match=r"gram must have shape \(90, 90\)"):
        copy.deepcopy(fitted).refine(3.0, gram=gram[:50, :50])
    with pytest.raises(ValueError, match=r"^tol must be"):
        copy.deepcopy(fitted).refine(tol=-1.0, gram=gram)
    before = fitted.billiard_.length
    assert fitted.refine(3.0, gram=gram).billiard_.length == pytest.approx(before + 3.0)
    with pytest.raises(ValueError, match="gram must be None"):
        model().fit(X, y).refine(3.0, gram=gram)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "exactly one of more_length and tol must be given"),
        ({"more_length": 1.0, "tol": 0.1}, "exactly one of more_length and tol must be given"),
        ({"more_length": 0.0}, "more_length must be"),
        ({"more_length": -1.0}, "more_length must be"),
        ({"more_length": np.nan}, "more_length must be"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_what_cannot_be_refined(arguments, text):
    X, y = data()
    fitted = model().fit(X, y)
    before = fitted.dual_coef_
    with pytest.raises(ValueError, match=text):
        fitted.refine(**arguments)
    assert fitted.dual_coef_ is before
    with pytest.raises(NotFittedError):
        model().refine(1.0)


# --- warm_start ------------------------------------------------------------------------------


def test_the_same_fit_again_continues_the_run():
    X, y = data(3)
    warm = model(warm_start=True).fit(X, y)
    cold = model().fit(X, y)
    same(warm, cold, X)
    same(warm.fit(X, y), cold, X)
    same(warm.set_params(tol=0.02, random_state=77).fit(X, y), model(tol=0.02).fit(X, y), X)


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": 1.0001 * kernels.Linear()},
        {"n_draws": 50},
        {"n_trajectories": 3},
        {"label_noise": 0.01},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_start_at_the_old_center(change):
    X, y = separable()
    warm = model(**PLANE, warm_start=True).fit(X, y)
    old = warm.billiard_
    new = warm.set_params(**change).fit(X, y).billiard_
    assert set(old.start) <= {"light_trap", "max_margin"}
    assert set(new.start) == {"given"}
    assert new.burn_in > 0
    # A run with other settings is not continued.
    assert new.draws.shape[:2] == (warm.n_trajectories, warm.n_draws)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_examples_have_the_law_of_all(n_classes):
    X, y = data(n_classes)
    settings = {"kernel": kernels.RBF(2.0), "tol": 0.02}
    added = model(**settings, warm_start=True).fit(X[:60], y[:60]).fit(X, y)
    whole = model(**settings | {"random_state": SEED + 1}).fit(X, y)
    gram = kernels.RBF(2.0)(whole.X_fit_) + 1.0 + 0.1 * np.eye(len(X))
    for a, b in zip(results(added), results(whole), strict=True):
        cosine = float(np.sum(a.center * (b.center @ gram)))
        assert np.arccos(min(cosine, 1.0)) < 5 * np.hypot(a.center_error, b.center_error)
    np.testing.assert_allclose(added.predict_proba(X), whole.predict_proba(X), atol=0.1)


def test_what_was_found_is_kept_with_more_examples():
    X, y = data()
    found = BayesPointClassifier(random_state=SEED, warm_start=True).fit(X[:60], y[:60])
    kernel, softness = found.kernel_, found.softness_
    found.set_params(kernel=kernel, softness=softness, calibration="leave-one-out").fit(X, y)
    assert found.tuning_ is None
    assert (found.kernel_, found.softness_) == (kernel, softness)
    assert found.calibration_ != 1
    assert len(found.X_fit_) == len(X)


def test_more_rows_start_at_the_old_center_and_others_do_not():
    X, y = separable()
    fitted = model(**PLANE, warm_start=True).fit(X[:60], y[:60])
    right = np.flatnonzero(fitted.predict(X[60:]) == y[60:]) + 60
    rows = np.r_[:60, right]
    more = copy.deepcopy(fitted).fit(X[rows], y[rows])
    assert set(more.billiard_.start) == {"given"}
    for rows in (np.r_[1:60], np.r_[np.arange(60)[::-1], 60:70], np.r_[:50]):
        other = copy.deepcopy(fitted).fit(X[rows], y[rows])
        assert set(other.billiard_.start) <= {"light_trap", "max_margin"}


def test_matrices_start_at_the_old_center_but_do_not_continue():
    X, y = separable()
    fitted = model(**PLANE | {"kernel": "precomputed"}, warm_start=True).fit(X @ X.T, y)
    assert set(fitted.fit(X @ X.T, y).billiard_.start) == {"given"}


def test_conditional_runs_need_no_start():
    X, y = data()
    warm = model(warm_start=True).fit(X, y).set_params(softness=0.2).fit(X, y)
    assert set(warm.billiard_.start) == {"typical"}


def test_other_classes_start_a_new_fit():
    X, y = data(3)
    warm = model(warm_start=True).fit(X[y < 2], y[y < 2])
    same(warm.fit(X, y), model().fit(X, y), X)


def test_warm_start_is_true_or_false():
    X, y = data()
    with pytest.raises(TypeError, match="warm_start must be True or False"):
        model(warm_start="yes").fit(X, y)
    assert clone(model(warm_start=True)).warm_start


def test_a_search_may_be_warm():
    X, y = data()
    warm = BayesPointClassifier(random_state=SEED, warm_start=True).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(warm.fit(X, y), BayesPointClassifier(random_state=SEED).fit(X, y), X)


def test_an_interrupted_continuation_changes_nothing(monkeypatch):
    X, y = data()
    fitted = model(kernel=kernels.RBF(2.0), softness=0.0, warm_start=True).fit(X[:60], y[:60])
    before = pickle.dumps(fitted)
    with pytest.raises(InfeasibleError):
        fitted.fit(np.vstack([X[:60], X[:1]]), np.r_[y[:60], 1 - y[:1]])
    assert pickle.dumps(fitted) == before

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sampling, "sample", interrupted)
    for work in (lambda: fitted.refine(1.0), lambda: fitted.fit(X, y)):
        with pytest.raises(KeyboardInterrupt):
            work()
        assert pickle.dumps(fitted) == before
