"""New examples for a fitted classifier: the law of a fit to all of them, without a bounce."""

import pickle

import numpy as np
import pytest
from scipy import sparse, special

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, kernels, load
from bayespoint.posterior import updating
from helpers import seed as shifted

M, K, TEST = 60, 4, 8
KINDS = ["two", "several", "ordered"]


def _data(kind, seed=3):
    rng = np.random.default_rng(shifted(seed))
    X = rng.standard_normal((M + K + TEST, 3))
    f = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(len(X))
    if kind == "two":
        y = (f > 0).astype(int)
    elif kind == "ordered":
        y = np.digitize(f, [-0.7, 0.7])
    else:
        y = np.argmax(np.c_[f, X[:, 2], X[:, 1] - f], axis=1)
    return X, y


def _model(kind, seed=0, **settings):
    cls = BayesPointOrdinalClassifier if kind == "ordered" else BayesPointClassifier
    given = {
        "softness": 0.3,
        "standardize": False,
        "approximation": None,
        "random_state": shifted(seed),
    }
    return cls(kernels.RBF(1.5), **given | settings)


def _quantities(model, points):
    """Return means of the draws: probabilities of points, with their spread, and without each."""
    interval = np.diff(model.predict_proba_interval(points, 0.5), axis=0)
    return np.concatenate(
        [
            model.predict_proba(points).ravel(),
            model.predict_proba(points, method="mixture").ravel(),
            interval.ravel(),
            model.leave_one_out()[-K:].ravel(),
        ]
    )


def _distance(kind, noise, n_seeds=16):
    """Return the largest difference of means to fits to all examples, in standard errors."""
    X, y = _data(kind)
    updates, fits, kept = [], [], 0
    for seed in range(n_seeds):
        settings = {"label_noise": noise, "n_draws": 200}
        model = _model(kind, seed, **settings).fit(X[:M], y[:M])
        model.update(X[M : M + K], y[M : M + K])
        kept += model.models_[0].basis.added == (K,)
        updates.append(_quantities(model, X[M + K :]))
        model = _model(kind, n_seeds + seed, **settings).fit(X[: M + K], y[: M + K])
        fits.append(_quantities(model, X[M + K :]))
    assert kept > n_seeds / 2  # by others a billiard was run
    error = np.sqrt((np.var(updates, axis=0) + np.var(fits, axis=0)) / (n_seeds - 1))
    # Normalized weights have a small bias, of the inverse number of draws.
    return float(np.max(np.abs(np.mean(updates, 0) - np.mean(fits, 0)) / np.hypot(error, 0.001)))


LIMIT = 5.0  # of up to ninety quantities, with errors from 16 seeds each


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_an_update_has_the_law_of_a_fit_to_all_examples(kind, noise):
    assert _distance(kind, noise) < LIMIT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", ["weights", "labels"])
def test_a_wrong_update_is_noticed(kind, wrong, monkeypatch):
    if wrong == "weights":  # in proportion to the root of the probability
        right = updating._log_label
        monkeypatch.setattr(updating, "_log_label", lambda *given: 0.5 * right(*given))
    else:  # values at new examples ignore their labels

        def drawn(law, mean, deviation, label, rng):
            z = rng.standard_normal((mean.shape[1], law.n_functions))
            return z - z.mean(axis=1, keepdims=True) if law.n_functions > 1 else z

        monkeypatch.setattr(updating, "_given_label", drawn)
    assert _distance(kind, 0.0, n_seeds=24) > LIMIT


@pytest.mark.parametrize("kind", KINDS)
def test_the_stated_error_of_the_center_is_the_true_one(kind):
    X, y = _data(kind)
    long = _model(kind, 99, tol=0.004, n_draws=2000).fit(X[: M + K], y[: M + K])
    lower = long.models_[0].basis.factor.lower

    def place(model):
        w = (model.dual_coef_ @ lower).ravel()
        return w / np.linalg.norm(w)

    squares = []
    for seed in range(12):
        model = _model(kind, seed).fit(X[:M], y[:M]).update(X[M : M + K], y[M : M + K])
        angle = np.arccos(min(1.0, place(model) @ place(long)))
        squares.append((angle / model.billiard_.center_error) ** 2)
    assert 0.4 < np.mean(squares) < 2.0


def test_examples_one_by_one_are_as_good_as_together():
    X, y = _data("two")
    long = _model("two", 99, tol=0.01, n_draws=1000).fit(X[: M + K], y[: M + K])
    model = _model("two", n_draws=400).fit(X[:M], y[:M])
    for k in range(M, M + K):
        model.update(X[k : k + 1], y[k : k + 1])
    assert model.models_[0].basis.added == (1,) * K
    assert model.sample_indices_.tolist() == list(range(M + K))
    p = model.predict_proba(X[M + K :])
    np.testing.assert_allclose(p, long.predict_proba(X[M + K :]), atol=0.05)
    assert len(model.models_[0].label) == M + K


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_updated_classifiers_predict_the_same_bits(kind, tmp_path):
    X, y = _data(kind)
    model = _model(kind).fit(X[:M], y[:M])
    for rows in (slice(M, M + 2), slice(M + 2, M + K)):
        model.update(X[rows], y[rows])
    model.save(tmp_path / "model.bp")
    for again in (load(tmp_path / "model.bp"), pickle.loads(pickle.dumps(model))):
        for method in ("moments", "mixture"):
            expected = model.predict_proba(X, method=method)
            np.testing.assert_array_equal(again.predict_proba(X, method=method), expected)
        np.testing.assert_array_equal(again.leave_one_out(), model.leave_one_out())
        again.update(X[M + K :], y[M + K :])  # it goes on


def test_what_follows_from_all_examples_follows_after_an_update():
    X, y = _data("two")
    model = _model("two").fit(X[:M], y[:M]).update(X[M : M + K], y[M : M + K])
    fresh = _model("two").fit(X[: M + K], y[: M + K])
    found, expected = (one.evidence(tol=0.1) for one in (model, fresh))
    assert abs(found.value - expected.value) < 5 * np.hypot(found.error, expected.error)
    assert model.leave_one_out().shape == (M + K, 2)
    np.testing.assert_allclose(model.leave_one_out(), fresh.leave_one_out(), atol=0.1)
    assert model.predict_set(X[M + K :], 0.1).shape == (TEST, 2)
    assert model.models_[0].label.tolist() == y[: M + K].tolist()


def test_averages_keep_their_settings():
    X, y = _data("two")
    model = BayesPointClassifier(n_models=3, random_state=shifted(0)).fit(X[:M], y[:M])
    before = model.posterior_
    model.update(X[M : M + K], y[M : M + K])
    assert len(model.models_) == len(before.models) > 1
    for old, new in zip(before.models, model.models_, strict=True):
        assert new.hyper is old.hyper
        assert new.calibration == old.calibration
    np.testing.assert_array_equal(model.model_weights_, before.weights)
    assert len(before.first.basis) == M  # the old posterior is as it was


@pytest.mark.parametrize("softness", [0.0, 0.3])
def test_a_billiard_where_few_draws_agree(softness):
    rng = np.random.default_rng(shifted(0))
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] > 0).astype(int)
    model = _model("two", softness=softness).fit(X[:20], y[:20])
    model.update(X[20:], y[20:])
    fresh = _model("two", softness=softness).fit(X, y)
    assert model.models_[0].basis.added == ()
    np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("tol", [0.5, 0.004], ids=["draws", "billiard"])
def test_thresholds_keep_the_variance_of_the_first_fit(tol, tmp_path):
    """Evidence and probabilities are means over the prior at the hyperparameters of the fit."""
    x, softness = np.append(np.linspace(-0.4, 0.4, 9), [3.0, -3.0, 3.0]), 0.3
    y = np.array([0, 0, 1, 0, 1, 1, 1, 2, 2, 2, 0, 2])
    rng = np.random.default_rng(shifted(0))
    slope, intercept = rng.standard_normal((2, 200_000, 1))
    variance = 1 + np.mean(x[:9] ** 2) + softness
    ends = np.pad(np.sort(rng.normal(0, np.sqrt(variance), (200_000, 2))), ((0, 0), (1, 1)))
    ends[:, 0], ends[:, 3] = -np.inf, np.inf

    def probabilities(x, y):
        f = slope * x + intercept
        high, low = (special.ndtr((ends[:, at] - f) / np.sqrt(softness)) for at in (y + 1, y))
        return high - low

    likelihood = probabilities(x, y).prod(axis=1)
    middle = likelihood @ probabilities(x, np.ones(12, int)) / likelihood.sum()
    model = BayesPointOrdinalClassifier("linear", softness=softness, random_state=shifted(0))
    model.set_params(standardize=False, approximation=None, tol=0.03)
    model.fit(x[:9, None], y[:9]).save(tmp_path / "model.bp")
    model = load(tmp_path / "model.bp").set_params(tol=tol).update(x[9:, None], y[9:])
    assert bool(model.models_[0].basis.added) == (tol == 0.5)
    evidence = model.evidence(tol=0.05, random_state=shifted(0))
    assert abs(evidence.value - np.log(likelihood.mean())) < 0.05 + 4 * evidence.error
    p = model.predict_proba(x[:, None], method="mixture")[:, 1]
    np.testing.assert_allclose(p, middle, rtol=0, atol=0.05)


def test_kernels_of_objects_sparse_inputs_and_frames():
    pandas = pytest.importorskip("pandas")
    words = ["aab", "abb", "bba", "aba", "bbb", "aaa", "abab", "baba"] * 3
    y = np.array(["a" if word.count("a") * 2 > len(word) else "b" for word in words])
    model = BayesPointClassifier(kernels.Spectrum(2), softness=0.5, random_state=shifted(0))
    model.fit(words[:20], y[:20]).update(words[20:], y[20:])
    assert len(model.models_[0].label) == 24
    X = sparse.random(30, 6, density=0.5, format="csr", random_state=shifted(0))
    model = BayesPointClassifier("linear", softness=0.5, random_state=shifted(0))
    model.fit(X[:28], np.arange(28) % 2).update(X[28:], [0, 1])
    assert model.X_fit_.shape == (30, 6)
    frame = pandas.DataFrame({"size": np.arange(30.0), "kind": ["u", "v", "w"] * 10})
    model = BayesPointClassifier(random_state=shifted(0), n_models=1).fit(
        frame[:28], np.arange(28) // 14
    )
    model.update(frame[28:], [1, 1])
    assert model.predict_proba(frame).shape == (30, 2)


def test_errors_name_the_argument_and_change_nothing():
    X, y = _data("two")
    model = _model("two").fit(X[:M], y[:M])
    state = dict(vars(model))
    with pytest.raises(ValueError, match=r"y must hold labels among \[0, 1\]; got 7"):
        model.update(X[:2], [0, 7])
    with pytest.raises(ValueError, match=r"y must have shape \(2,\)"):
        model.update(X[:2], [0])
    with pytest.raises(ValueError, match="3 features"):
        model.update(X[:2, :2], [0, 1])
    assert vars(model) == state
    model.set_params(fit_intercept=False)
    with pytest.raises(ValueError, match="fit_intercept must be True, as in the fit; got False"):
        model.update(X[:2], [0, 1])
    model.set_params(fit_intercept=True, tol=-1)
    with pytest.raises(ValueError, match="tol must be"):
        model.update(X[:2], [0, 1])
    gram = X[:M] @ X[:M].T
    model = BayesPointClassifier("precomputed", softness=1.0, random_state=shifted(0)).fit(
        gram, y[:M]
    )
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        model.update(gram[:2], y[:2])
    model = _model("two", approximation="landmarks", n_components=10).fit(X[:M], y[:M])
    with pytest.raises(ValueError, match="update needs the kernel matrix"):
        model.update(X[:2], [0, 1])
