"""Longer runs of fitted classifiers."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from bayespoint import BayesPointClassifier, kernels
from bayespoint.engine import sampling
from helpers import SHIFT as SEED

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


def model(**settings):
    given = {"kernel": kernels.RBF(1.5), "softness": 0.1, "random_state": SEED}
    return BayesPointClassifier(**given | settings, standardize=False)


def same(a, b, X):
    for name in ("dual_coef_", "intercept_", "support_", "calibration_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(
        a.predict_proba(X, method="mixture"), b.predict_proba(X, method="mixture")
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_smaller_tolerance_gives_the_bits_of_a_fit_with_it(n_classes):
    X, y = data(n_classes)
    refined = model(tol=0.2).fit(X, y).refine(tol=0.03)
    same(refined, model(tol=0.03).fit(X, y), X)
    # The tolerance has been reached already.
    before = refined.dual_coef_
    assert np.array_equal(refined.refine(tol=0.1).dual_coef_, before)


def test_settings_changed_after_the_fit_are_ignored():
    X, y = data()
    fitted = model().fit(X, y)
    changed = copy.deepcopy(fitted).set_params(n_draws=7, n_trajectories=2, tol=0.5)
    same(fitted.refine(0.02), changed.refine(0.02), X)


def test_changed_threads_and_calibration_take_effect():
    X, y = data()
    fitted = model().fit(X, y)
    changed = copy.deepcopy(fitted).set_params(n_jobs=2, calibration="leave-one-out").refine(0.02)
    plain = fitted.refine(0.02)
    np.testing.assert_array_equal(changed.dual_coef_, plain.dual_coef_)
    assert plain.calibration_ == 1.0
    assert changed.calibration_ != 1.0


def test_a_run_that_reaches_its_tolerance_does_not_warn():
    X, y = data()

    def messages(work):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
        return [str(each.message) for each in caught if each.category is ConvergenceWarning]

    fitted = model(tol=0.3)
    assert messages(lambda: fitted.fit(X, y)) == []
    assert messages(lambda: copy.deepcopy(fitted).refine(tol=0.2)) == []
    short = model(tol=0.3, max_iter=60)
    assert any(
        "when max_bounces (a classifier's max_iter) ended" in text
        for text in messages(lambda: short.fit(X, y))
    )


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
    assert fitted.refine(0.005, gram=gram).billiard_.length > before
    with pytest.raises(ValueError, match="gram must be None"):
        model().fit(X, y).refine(3.0, gram=gram)


def test_what_cannot_be_refined():
    X, y = data()
    fitted = model().fit(X, y)
    before = fitted.posterior_
    for tol in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="tol must be"):
            fitted.refine(tol)
    assert fitted.posterior_ is before
    with pytest.raises(NotFittedError):
        model().refine(1.0)


def test_an_interrupted_continuation_changes_nothing(monkeypatch):
    X, y = data()
    fitted = model().fit(X, y)
    before = pickle.dumps(fitted)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sampling, "sample", interrupted)
    for work in (lambda: fitted.refine(1.0), lambda: fitted.fit(X, y)):
        with pytest.raises(KeyboardInterrupt):
            work()
        assert pickle.dumps(fitted) == before
