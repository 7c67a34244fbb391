"""Classifiers with landmarks."""

import os
import signal
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp

from bayespoint import BayesPointClassifier
from bayespoint.blocks import Blocks, parquet
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget
from bayespoint.estimators import settings
from bayespoint.kernels import RBF, Scaled
from bayespoint.labels import Labels
from bayespoint.landmarks import selection
from bayespoint.landmarks.sampling import Balls
from bayespoint.papers.centers import closest_to_vote
from bayespoint.results import LandmarkResult
from bayespoint.tuning.defaults import default_kernels
from helpers import seed
from objects import plan

KERNEL = Scaled(RBF(sigma=1.2), 2.0)


def examples(m=300, n_classes=2, index=0):
    rng = np.random.default_rng(seed(index))
    X = rng.standard_normal((m, 2))
    f = np.stack([np.sin((k + 1) * X[:, 0]) + X[:, k % 2] for k in range(n_classes)])
    return X, (f + 0.5 * rng.standard_normal(f.shape)).argmax(axis=0)


def classifier(**settings):
    given = {"kernel": KERNEL, "softness": 0.3, "n_models": 1, "random_state": seed(0)}
    return BayesPointClassifier(**{**given, "approximation": "landmarks", **settings})


@pytest.mark.parametrize("n_classes", [2, 3])
def test_landmarks_at_all_examples_give_the_posterior_without(n_classes):
    m, n_draws = {2: (100, 400), 3: (50, 100)}[n_classes]
    X, y = examples(m, n_classes)
    new = np.random.default_rng(1).standard_normal((200, 2))
    settings = {"calibration": None, "standardize": False, "tol": 0.02, "n_draws": n_draws}
    with_them = classifier(n_components=m, **settings).fit(X, y)
    without = classifier(approximation=None, **settings).fit(X, y)
    p, q = with_them.predict_proba(new), without.predict_proba(new)
    # Standard errors of means over draws, by `mixture`, are the largest: at most a hundredth.
    assert np.abs(p - q).max() < 0.05
    assert np.abs(p - q).mean() < 0.008
    p, q = (model.predict_proba(new, method="mixture") for model in (with_them, without))
    assert np.abs(p - q).max() < 0.05
    one, other = with_them.evidence(), without.evidence(max_length=1e6)
    assert one.value == pytest.approx(other.value, abs=5 * np.hypot(one.error, other.error) + 0.1)


def test_everything_works_without_settings():
    X, y = examples(600, 3)
    model = BayesPointClassifier(approximation="landmarks", n_components=40, random_state=0)
    model.fit(X, y, np.where(X[:, 0] > 0, 2.0, 0.5))
    assert model.approximation_ == "landmarks"
    assert isinstance(model.billiard_, LandmarkResult)
    assert model.X_fit_.shape == (40, 2)
    assert model.billiard_.r_hat < model.billiard_.largest_r_hat
    assert model.score(X, y) > 0.6
    p = model.predict_proba(X[:50])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X[:50]), atol=1e-9)
    assert set(model.predict(X[:50], method="vote")) <= {0, 1, 2}
    assert set(model.predict(X[:50], method="gibbs")) <= {0, 1, 2}
    assert model.reject(X[:50], 0.2)[1].dtype == bool
    assert len(model.suggest_query(X[:50], 3)) == 3
    assert model.sample_functions(X[:5]).shape == (3, 400, 5)
    assert closest_to_vote(model.models_[0], X[:50]).shape == (3, 40)
    assert "landmarks" in model.billiard_.summary()


def test_chains_of_different_residuals_disagree():
    X, y = examples(300)
    found = classifier(n_components=30).fit(X, y).billiard_
    rises = 30.0 * np.arange(4)[:, None]
    apart = replace(found, residuals=found.residuals + rises)
    assert found.mixed
    assert not apart.mixed
    assert found.r_hat < found.largest_r_hat < apart.r_hat
    assert apart.ess == found.ess  # that of the functions alone


def test_no_draw_counts_while_the_residual_rises(monkeypatch):
    whole, batches = Balls.steps, []

    def steps(balls, n_steps):
        found = whole(balls, n_steps)
        batches.append(len(batches))
        rise = 100.0 * np.arange(found.residuals.shape[1]) if len(batches) <= 3 else 0.0
        return found._replace(residuals=found.residuals + rise)

    X, y = examples(300)
    model = classifier(n_components=30)
    assert model.fit(X, y).billiard_.burn_in < 32
    monkeypatch.setattr(Balls, "steps", steps)
    assert model.fit(X, y).billiard_.burn_in >= 32


def test_the_number_of_threads_does_not_matter():
    X, y = examples(3000)
    one, two = (classifier(n_components=50, n_jobs=n).fit(X, y) for n in (1, 2))
    assert (one.billiard_.draws == two.billiard_.draws).all()


def test_the_probability_of_labels_is_that_of_the_draws():
    X, y = examples(500)
    model = classifier(n_components=50).fit(X, y)
    new, labels = X[:1], y[:1]
    found = model.log_labeling_probability(new, labels)
    expected = np.log(model.predict_proba(new, method="mixture")[0, labels[0]])
    assert found.value == pytest.approx(expected, abs=1e-6)
    joint = model.log_labeling_probability(X[:20], y[:20])
    assert joint.value < found.value


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_inputs(kernel):
    X, y = examples(400)
    S = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    assert classifier(kernel=kernel, softness=None, n_components=20).fit(S, y).score(S, y) > 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx(n_classes):
    runtime = pytest.importorskip("onnxruntime")
    from bayespoint.export import to_onnx

    X, y = examples(500, n_classes)
    model = classifier(n_components=30).fit(X, y)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run(["probabilities"], {"X": X[:20]})[0]
    np.testing.assert_allclose(found, model.predict_proba(X[:20]), atol=1e-4)


def test_texts_have_random_examples_as_landmarks():
    X, y = examples(200)

    class Words:
        requires_vector_input = False

        def __call__(self, a, b):
            return np.array([[float(len(set(s) & set(t))) for t in b] for s in a])

    texts = [f"{'abc'[int(a > 0)]}{'xyz'[int(b > 0)]}" for a, b in X]
    model = classifier(kernel=Words(), n_components=20)
    model.fit(texts, y)
    assert len(model.X_fit_) <= 20
    assert model.predict(texts[:3]).shape == (3,)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"approximation": "nystroem"}, "approximation must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"softness": 0}, "softness must be positive or None"),
        ({"calibration": "leave-one-out"}, "calibration must be 'auto' or None"),
        ({"kernel": "precomputed"}, "kernel must not be 'precomputed'"),
    ],
)
def test_settings_that_do_not_fit_are_errors(settings, text):
    X, y = examples(50)
    with pytest.raises(ValueError, match=text):
        classifier(**settings).fit(X @ X.T if "kernel" in settings else X, y)


def test_limits_end_a_fit_with_a_warning():
    X, y = examples(1000)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        classifier(n_components=100, max_iter=8).fit(X, y)


# --- blocks --------------------------------------------------------------------------------------


def split(X, y, n=4):
    rows = np.array_split(np.arange(len(y)), n)
    return [X[one] for one in rows], [y[one] for one in rows]


def test_blocks_are_the_table():
    X, y = examples(2000)
    blocks, labels = split(X, y, 3)
    model = classifier(n_components=40).fit(Blocks(blocks), Blocks(labels))
    np.testing.assert_allclose(model.scaler_.mean_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.scaler_.scale_, X.std(axis=0), rtol=1e-12)
    assert model.n_features_in_ == 2
    assert model.score(X, y) > 0.6
    assert (model.predict(Blocks(blocks)) == model.predict(X)).all()


def test_forms_of_blocks_do_not_matter(tmp_path):
    X, y = examples(1200)
    blocks, labels = split(X, y)
    np.save(tmp_path / "block.npy", blocks[0])
    forms = [
        np.load(tmp_path / "block.npy", mmap_mode="r"),
        blocks[1].tolist(),
        lambda: blocks[2],
        blocks[3],
    ]
    settings = {"n_components": 30}
    expected = classifier(**settings).fit(Blocks(blocks), Blocks(labels)).predict_proba(X)
    for given in (Blocks(forms), Blocks(blocks)):
        for target in (y, Blocks(labels)):
            found = classifier(**settings).fit(given, target).predict_proba(X)
            assert (found == expected).all()


def test_frames_have_names():
    X, y = examples(900)
    blocks, labels = split(X, np.array(["no", "yes"])[y])
    frames = [pd.DataFrame(block, columns=["a", "b"]) for block in blocks]
    weights = Blocks([np.where(block[:, 0] > 0, 2.0, 0.5) for block in blocks])
    model = classifier(n_components=30, class_weight="balanced")
    model.fit(Blocks(frames), Blocks(labels), weights)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert set(model.predict(Blocks(frames))) == {"no", "yes"}
    frames[2] = frames[2].rename(columns={"b": "c"})
    with pytest.raises(ValueError, match="block 2"):
        classifier().fit(Blocks(frames), Blocks(labels))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = examples(600)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=np.array(["no", "yes"])[y])
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=200)
    inputs = parquet(tmp_path / "t.parquet", ["a", "b"])
    assert len(inputs) == 3
    model = classifier(n_components=30).fit(inputs, parquet(tmp_path / "t.parquet", "label"))
    assert set(model.predict(inputs)) == {"no", "yes"}
    columns = classifier(n_components=30).fit(parquet(tmp_path / "t.parquet"), y).columns_.columns
    assert [(one.name, one.kind) for one in columns][1:] == [("b", "number"), ("label", "category")]
    with pytest.raises(KeyError, match="nothing"):
        parquet(tmp_path / "t.parquet", "nothing")


def with_infinity(blocks):
    blocks[3] = blocks[3].copy()
    blocks[3][5, 1] = np.inf
    return blocks


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda X, y: (with_infinity(X), y), "block 3: Input X contains infinity"),
        (lambda X, y: (X, y[:-1]), "y must have as many blocks as X, 4; got 3"),
        (lambda X, y: (X, [*y[:2], y[2][1:], y[3]]), "block 2: y must hold a label for each of"),
        (lambda X, y: ([*X[:1], X[1][:, :1], *X[2:]], y), "in block 1"),
        (lambda X, y: (X, [np.zeros_like(one) for one in y]), "at least two classes"),
        (lambda X, y: (X, [*y[:3], np.full(len(y[3]), np.nan)]), "block 3: y must not lack"),
    ],
)
def test_a_bad_block_is_named_and_nothing_is_fitted(change, text):
    X, y = examples(400)
    good = classifier(n_components=20).fit(X, y)
    before = dict(vars(good))
    blocks, labels = change(*split(X, y))
    with pytest.raises(ValueError, match=text):
        good.fit(Blocks(blocks), Blocks(labels))
    assert vars(good).keys() == before.keys()
    assert all(vars(good)[name] is value for name, value in before.items())


def test_a_class_may_be_missing_in_the_first_block():
    X, y = examples(400)
    order = np.argsort(y, kind="stable")
    blocks, labels = split(X[order], y[order])
    model = classifier(n_components=20).fit(Blocks(blocks), Blocks(labels))
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, y) > 0.6


def test_lengths_that_differ_are_an_error():
    X, y = examples(400)
    with pytest.raises(ValueError, match="y must hold an entry for each of the 400 rows"):
        classifier().fit(Blocks(split(X, y)[0]), y[1:])
    with pytest.raises(TypeError, match="sequence of blocks"):
        Blocks(X)
    with pytest.raises(ValueError, match="at least one block"):
        Blocks([])
    with pytest.raises(ValueError, match="approximation must be"):
        classifier(approximation=None).fit(Blocks([X]), Blocks([y]))


# --- Dask ----------------------------------------------------------------------------------------


def test_dask_collections_give_the_bits_of_blocks():
    da = pytest.importorskip("dask.array")
    X, y = examples(1200)
    blocks, labels = split(X, y, 3)
    expected = classifier(n_components=30).fit(Blocks(blocks), Blocks(labels))
    array, target = da.from_array(X, chunks=(400, 1)), da.from_array(y, chunks=400)
    model = classifier(n_components=30).fit(array, target)
    assert (model.billiard_.draws == expected.billiard_.draws).all()
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(model, name)(array)
        assert lazy.chunks[0] == (400, 400, 400)
        np.testing.assert_allclose(lazy.compute(), getattr(model, name)(X), atol=1e-12)
    with pytest.raises(TypeError, match="y must be an array or a frame of Dask"):
        classifier().fit(array, y)


@pytest.mark.long
@pytest.mark.dask
@pytest.mark.xdist_group("dask")
def test_features_that_do_not_fit_are_computed_again(capsys):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X, y = examples(200)
    model = classifier(n_components=20, n_draws=10, tol=1.0, verbose=1)
    expected = model.fit(Blocks([X]), y).billiard_.draws
    assert "again" not in capsys.readouterr().err
    given = da.from_array(X, chunks=200), da.from_array(y, chunks=200)
    # Workers in this process need more than so low a limit, at which they must not pause.
    names = ("target", "spill", "pause", "terminate")
    in_process = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with dask.config.set({f"distributed.worker.memory.{name}": False for name in names}):
        for limit in (400_000, 3000):
            with (
                distributed.LocalCluster(memory_limit=limit, **in_process) as workers,
                distributed.Client(workers),
            ):
                if limit > 3000:
                    assert (model.fit(*given).billiard_.draws == expected).all()
                    assert "computed again in every pass" in capsys.readouterr().err
                else:
                    with pytest.raises(MemoryError, match="n_components"):
                        model.fit(*given)


# --- findings of a review -----------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_constant_features_are_not_scaled(form):
    X, y = examples(1200)
    X = np.column_stack([X, np.full(len(y), 0.1)])
    blocks, labels = split(X, y)
    model = classifier(kernel="rbf", n_components=20)
    model.fit(Blocks([form(block) for block in blocks]), Blocks(labels))
    assert model.scaler_.scale_[2] == 1.0


def test_empty_blocks_change_nothing():
    X, y = examples(600)
    blocks, labels = split(X, y)
    expected = classifier(n_components=20).fit(Blocks(blocks), Blocks(labels))
    model = classifier(n_components=20)
    model.fit(Blocks([*blocks, X[:0]]), Blocks([*labels, []]))
    assert (model.predict(X) == expected.predict(X)).all()
    with pytest.raises(ValueError, match="at least one example"):
        model.fit(Blocks([X[:0]]), Blocks([y[:0]]))


def test_a_center_of_zero_ends_with_a_warning(monkeypatch):
    monkeypatch.setattr("bayespoint.landmarks.sampling.MAX_STEPS", 500)
    X, y = examples(100)
    with pytest.warns(ConvergenceWarning, match="center_error"):
        classifier(n_components=20).fit(np.concatenate([X, X]), np.concatenate([y, 1 - y]))


def test_a_fit_with_landmarks_leaves_nothing_of_one_without():
    X, y = examples(100)
    model = classifier(approximation=None).fit(X, y)
    assert hasattr(model, "support_")
    model.set_params(approximation="landmarks").fit(X, y)
    assert not hasattr(model, "support_")


def test_one_draw():
    X, y = examples(100)
    model = classifier(n_components=10, n_draws=1, tol=1.0).fit(X, y)
    assert model.billiard_.draws.shape == (4, 1, 10)


def test_errors_of_the_center_are_as_large_as_they_say():
    # Little softness: the chains mix slowly.
    X, y = examples(150)
    settings = {"kernel": RBF(1.0), "softness": 0.05, "n_components": 150, "calibration": None}

    def center(index, tol):
        model = classifier(**settings, standardize=False, tol=tol, random_state=index).fit(X, y)
        return model, model.dual_coef_[0] @ model.models_[0].basis.factor.lower

    exact, w = center(seed(50), 0.04)
    apart, claimed = [], []
    for index in range(12):
        model, other = center(seed(index), 0.15)
        k = exact.kernel_(exact.X_fit_, model.X_fit_) + 1.0
        inner = float(exact.dual_coef_[0] @ k @ model.dual_coef_[0])
        square = float(w @ w + other @ other - 2 * inner)
        apart.append(square / float(w @ w))
        claimed.append(model.billiard_.center_error**2 + exact.billiard_.center_error**2)
    assert np.mean(apart) < 2.0 * np.mean(claimed)


def test_arguments_of_evidence_are_checked():
    X, y = examples(100)
    model = classifier(n_components=10).fit(X, y)
    with pytest.raises(ValueError, match="max_length"):
        model.evidence(max_length=-5)
    with pytest.raises(ValueError, match="tol"):
        model.log_labeling_probability(X[:3], y[:3], tol=-1)


def test_many_examples_have_landmarks_by_default_also_without_derivatives(monkeypatch):
    assert settings.MAX_EXAMPLES == 6000
    monkeypatch.setattr(settings, "MAX_EXAMPLES", 200)
    X, y = examples(600)
    given = {"approximation": "auto", "n_components": 20, "random_state": 0}
    model = BayesPointClassifier(gp.RBF(), **given)
    assert model.fit(X[:200], y[:200]).approximation_ is None
    assert model.fit(X, y).approximation_ == "landmarks"
    assert model.tuning_.n_examples == 600


def test_few_landmarks_stand_for_all_examples_where_they_miss_little():
    X, y = examples(2000)
    given = {"softness": 0.5, "random_state": 0}
    some = BayesPointClassifier(RBF(2.0), **given).fit(X, y)
    every = BayesPointClassifier(RBF(2.0), approximation=None, **given).fit(X, y)
    assert (some.approximation_, len(some.X_fit_), every.approximation_) == ("landmarks", 250, None)
    apart = some.predict_proba(X) - every.predict_proba(X)
    assert np.sqrt(np.square(apart).mean()) < 0.01  # measured: 0.004


def test_landmarks_suffice_that_miss_little_beside_the_noise():
    X, y = examples(6000)

    def found(kernel, m=6000, softness=0.5, n_classes=2, **given):
        some, labels = Examples(X[:m], y[:m], np.ones(m)), Labels.of_classes(n_classes)
        return selection.sufficient(kernel, some, labels, plan(**given), 0, softness)

    assert found(RBF(2.0)) == found(RBF(2.0), 2000) == 250
    assert found(RBF(2.0), 1999) is None
    assert found(RBF(0.3)) == 500
    assert found(RBF(0.3), 3999) is None
    assert found(RBF(0.3), softness=0.1) is None
    assert found(RBF(2.0), n_classes=3) is None
    assert found(RBF(2.0), n_components=250) is None
    assert found(RBF(2.0), n_models=2) is None


def test_labels_of_two_types_name_the_blocks():
    X, y = examples(400)
    blocks, labels = split(X, y, 2)
    with pytest.raises(ValueError, match="labels of one type; got 0 in block 0"):
        classifier().fit(Blocks(blocks), Blocks([labels[0], labels[1].astype(str)]))
    mixed = np.array(["a", None] * 100, dtype=object)
    with pytest.raises(ValueError, match="block 1: y must not lack labels; got None in row 1"):
        classifier().fit(Blocks(blocks), Blocks([mixed.astype(str), mixed]))


def test_blocks_elsewhere_are_refused():
    X, y = examples(100)
    model = classifier(n_components=10).fit(X, y)
    with pytest.raises(TypeError, match="X must be an array here; got Blocks"):
        model.suggest_query(Blocks([X]))
    with pytest.raises(TypeError, match="y must be an array here; got Blocks"):
        model.fit(X, Blocks([y]))


def test_repeated_points_are_one_landmark():
    X, y = examples(100)
    model = classifier(n_components=30).fit(np.repeat(X[:10], 10, axis=0), y)
    assert len(model.X_fit_) == 10


@pytest.mark.parametrize(
    ("m", "values", "tried", "chosen"),
    [
        (200_000, (-0.4, -0.3985), [250, 500], 250),
        (200_000, (-0.4, -0.38, -0.37, -0.364), [250, 500, 1000, 2000], 2000),
        (200_000, (-0.4, -0.38, -0.37, -0.3685), [250, 500, 1000, 2000], 1000),
        (200_000, (-0.4, -0.39, -0.387), [250, 500, 1000], 1000),
        (2_000_000, (-0.4, -0.38, -0.37), [250, 500, 1000], 1000),  # 2000 are too much work
        (50_000, (-0.4, -0.4, -0.4), [250, 500, 1000], 500),
        (12_000, (-0.4, -0.4, -0.397), [500, 1000, 2000], 2000),
        (11_999, (), [], 1000),  # more would be too many for as few examples
        (5_999, (), [], 500),
    ],
)
def test_landmarks_are_doubled_while_the_bound_gains(monkeypatch, m, values, tried, chosen):
    assert landmarks_by_default(monkeypatch, m, values, np.zeros(len(values))) == (tried, chosen)


def test_divergences_from_the_prior_count_for_less_with_more_examples(monkeypatch):
    # 5000 of 50 000 examples are tried, so that .45 of a divergence do not count.
    values, divergences = np.array([-0.4, -0.4, -0.4, -0.4]), np.array([0.0, 0.01, 0.02, 0.0])
    found = landmarks_by_default(monkeypatch, 50_000, values, -divergences)
    assert found == ([250, 500, 1000, 2000], 1000)
    divergences[2] = 0.014  # .0018 nats
    found = landmarks_by_default(monkeypatch, 50_000, values, -divergences)
    assert found == ([250, 500, 1000], 500)


def landmarks_by_default(monkeypatch, m, values, prior_terms):
    """Return the numbers that are tried and chosen, given bounds for each example."""
    X, y = examples(5000)
    seen = []

    def approximation(basis, some, *_):
        assert len(some.label) == 5000
        k = len(seen)
        seen.append(len(basis))
        mean, bound = np.zeros(basis.factor.rank), 5000 * values[k]
        return SimpleNamespace(mean=mean, prior_term=5000 * prior_terms[k], bound=bound)

    monkeypatch.setattr(selection, "_approximation", approximation)
    monkeypatch.setattr(selection, "choose", lambda kernel, X, n, seed: X[:n])
    given = KERNEL, Examples(X, y, np.ones(len(y)), total=m), Labels.two_classes()
    basis, mean = selection.choose_basis(*given, plan(offset=1.0), Budget(seed(0)), 0.3)
    assert len(mean) == basis.factor.rank
    return seen, len(basis)


@pytest.mark.parametrize(
    ("d", "n_kernels", "weighted"), [(1, 1, 0), (100, 1, 1), (101, 2, 1), (1001, 2, 0)]
)
def test_default_kernels_for_a_number_of_features(d, n_kernels, weighted):
    found = default_kernels(np.random.default_rng(seed(0)).standard_normal((5, d)))
    assert len(found) == n_kernels
    for part, n in (("Matern(", 1), ("Laplacian(", 1), ("Linear(", 2 - n_kernels)):
        assert repr(found).count(part) == n
    assert all(repr(one).count("Weighted(") == weighted for one in found)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit_and_changes_nothing(n_jobs):
    X, y = examples(2000)
    model = classifier(n_components=200).fit(X, y)
    before = vars(model).copy()
    model.set_params(tol=1e-9, n_jobs=n_jobs)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert time.monotonic() - began < 20
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    changed = {name for name, value in vars(model).items() if value is not before[name]}
    assert changed == {"tol", "n_jobs"}
