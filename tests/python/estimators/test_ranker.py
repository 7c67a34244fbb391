"""The ranker: what choices may be, predictions, queries, errors, and what scikit-learn asks."""

import io
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp

import hostile_files
from bayespoint import BayesPointRanker, InfeasibleError, kernels, load
from bayespoint.blocks import Blocks
from bayespoint.data import choices
from bayespoint.kernels import Differences
from helpers import seed

GIVEN = {"kernel": kernels.RBF(0.5), "softness": 0.1, "random_state": seed(0)}
RNG = np.random.default_rng(seed(0))
X = RNG.random((30, 2))
U = -4 * ((X - 0.4) ** 2).sum(axis=1)
PAIRS = np.array([RNG.choice(30, 2, replace=False) for _ in range(60)])
PAIRS = np.where((U[PAIRS[:, 0]] > U[PAIRS[:, 1]])[:, None], PAIRS, PAIRS[:, ::-1])


@pytest.fixture(scope="module")
def model():
    return BayesPointRanker(**GIVEN).fit(X, PAIRS)


def same(one, other):
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_smaller_sets_are_filled_up_or_lists():
    filled = np.array([[3, 1, 2], [4, 5, -1], [6, 1, -1], [7, 8, 9]])
    lists = [[3, 1, 2], [4, 5], [6, 1], [7, 8, 9]]
    model = BayesPointRanker(**GIVEN).fit(X, filled)
    for other in (lists, filled.tolist(), filled.astype(np.int8)):
        same(model, BayesPointRanker(**GIVEN).fit(X, other))
    first, second, choice = choices.walls(choices.read(filled, X))
    np.testing.assert_array_equal(first, [3, 3, 4, 6, 7, 7])
    np.testing.assert_array_equal(second, [1, 2, 5, 1, 8, 9])
    np.testing.assert_array_equal(choice, [0, 0, 1, 2, 3, 3])


def test_items_of_a_frame_may_be_named_by_its_index():
    names = np.array([f"item {i}" for i in range(30)])
    frame, pairs = pd.DataFrame(X, index=names), names[PAIRS]
    model = BayesPointRanker(**GIVEN).fit(pd.DataFrame(X), PAIRS)
    for y in (pairs, pairs.tolist(), pd.DataFrame(pairs, columns=["better", "other"])):
        same(model, BayesPointRanker(**GIVEN).fit(frame, y))
    assert model.score(frame, pairs) == model.score(X, PAIRS)
    np.testing.assert_array_equal(
        model.predict_proba(frame, pairs[:3]), model.predict_proba(X, PAIRS[:3])
    )
    lists = [[3, 1, 2], [4, 5], [6, 1]]
    same(
        BayesPointRanker(**GIVEN).fit(X, lists),
        BayesPointRanker(**GIVEN).fit(frame, [[*names[row]] for row in lists]),
    )
    for table, y, text in (
        (frame, [["item 1", "tea"]], "names in the index of a frame; got 'tea'"),
        (X, pairs, "names in the index of a frame; got 'item 0'"),
        (
            frame.rename({"item 1": "item 0"}),
            [["item 2", "item 3"]],
            "X must have no name twice in its index",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            BayesPointRanker(**GIVEN).fit(table, y)


def test_relevance_makes_pairs_within_groups():
    relevance, groups = np.array([2, 0, 1, 1, 3.5]), np.array(["a", "a", "b", "a", "b"])
    found = choices.read(relevance, X[:5], groups)
    assert {tuple(row) for row in found.tolist()} == {(0, 1), (0, 3), (3, 1), (4, 2)}
    assert len(choices.read(relevance, X[:5])) == 9
    pairs = choices.read(U, X, np.arange(30) % 3)
    model = BayesPointRanker(**GIVEN).fit(X, U, np.arange(30) % 3)
    same(model, BayesPointRanker(**GIVEN).fit(X, pairs))
    assert model.score(X, U) > 0.95
    assert model.score(X, -U) == pytest.approx(1 - model.score(X, U))


def test_pairs_of_relevance_take_memory_in_proportion_to_their_number():
    relevance = np.zeros(20_000)
    relevance[7] = 1.0
    tracemalloc.start()
    pairs = choices.read(relevance, relevance)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(pairs) == 19_999
    assert peak < 1000 * len(pairs)
    items = np.zeros((1_000_000, 1))
    with pytest.raises(MemoryError, match=r"\(499999500000 pairs of items\) .* of shape \(n_pairs"):
        BayesPointRanker().fit(items, np.arange(1_000_000))


EQUAL = [{}, {"softness": 0.3, "n_models": 1}, {"label_noise": None}, {"n_models": 1}]


@pytest.mark.parametrize("given", EQUAL, ids=str)
@pytest.mark.parametrize("others", [0.0, 3.0], ids=["all", "compared"])
def test_items_that_are_equal_leave_the_prior(given, others):
    items = np.r_[np.full(4, 1.3), others + np.full(2, 1.3)][:, None]
    model = BayesPointRanker(random_state=seed(0), **given).fit(items, [[0, 1], [2, 3], [1, 2]])
    np.testing.assert_array_equal(model.predict(items), 0)
    mean, std = model.predict([[0.0], [9.0]], return_std=True)
    np.testing.assert_array_equal(mean, 0)
    assert (std > 0.1).all()
    p = model.predict_proba(items, [[0, 1], [0, 4], [5, 3]])
    np.testing.assert_allclose(p, 0.5, rtol=1e-15)  # an average of models


def test_a_kernel_of_differences_has_their_covariance_and_slopes():
    rng = np.random.default_rng(seed(1))
    a, b, c = (rng.random((n, 2)) for n in (4, 4, 3))
    kernel = Differences(kernels.Scaled(kernels.Weighted(kernels.Matern(0.7), (1.0, 2.0)), 1.5))
    rows = np.concatenate(
        [
            Differences.rows(a, b),
            Differences.rows(a, b),
            Differences.rows(c),
        ]
    )
    points = np.concatenate([a, b, c])
    signs = np.zeros((11, 11))
    signs[np.arange(4), np.arange(4)] = signs[np.arange(4) + 4, np.arange(4)] = 1
    signs[np.arange(4), np.arange(4) + 4] = signs[np.arange(4) + 4, np.arange(4) + 4] = -1
    signs[np.arange(8, 11), np.arange(8, 11)] = 1
    exact = signs @ kernel.kernel(points) @ signs.T
    np.testing.assert_allclose(kernel(rows), exact, atol=1e-12)
    np.testing.assert_array_equal(kernel(rows), kernel(rows).T)
    np.testing.assert_allclose(kernel(rows, rows[3:]), exact[:, 3:], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(rows), exact.diagonal(), atol=1e-12)
    many = np.concatenate([rows[::-1], Differences.rows(b, b)[[0, 3, 0]], *[rows] * 20])
    np.testing.assert_allclose(kernel(many, rows), kernel.with_pullback(many, rows)[0], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(many), kernel(many).diagonal(), atol=1e-12)
    assert (kernel.diag(many[11:14]) == 0).all()
    assert len(kernel.items(rows)) == 11
    by = rng.standard_normal((11, 8))
    left_open = Differences(kernels.Scaled(kernels.Weighted(kernels.Matern())))
    names = [one.name for one in left_open.parameters(rows)]
    values = dict.fromkeys(names, 0.8)

    def total(values):
        return (by * left_open.with_values(values)(rows, rows[3:])).sum()

    slopes, _ = left_open.with_values(values).with_pullback(rows, rows[3:])[1](by)
    assert set(names) == slopes.keys()
    for name in names:
        ends = [total(values | {name: 0.8 * np.exp(step)}) for step in (1e-4, -1e-4)]
        assert slopes[name] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-5)


def test_utilities_and_probabilities_fit_each_other(model):
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (30,)
    assert np.corrcoef(mean, U)[0, 1] > 0.8
    p = model.predict_proba(X, PAIRS)
    assert p.shape == (60,)
    assert (p > 0.5).mean() > 0.9
    np.testing.assert_allclose(p, 1 - model.predict_proba(X, PAIRS[:, ::-1]), atol=1e-9)
    best = model.probability_best(X)
    assert best.sum() == pytest.approx(1)
    np.testing.assert_array_equal(best, model.probability_best(X))
    assert best[mean > np.median(mean)].sum() > 0.95
    f = model.sample_functions(X, random_state=seed(1))
    assert f.shape == (400, 30)
    np.testing.assert_allclose(f.mean(axis=0), mean, atol=0.4)
    assert model.score(X, PAIRS) > 0.95
    assert not model.kernel_.parameters(X)
    assert model.softness_ == 0.1


def test_label_noise_is_in_the_probabilities(model):
    noisy = clone(model).set_params(label_noise=0.2).fit(X, PAIRS)
    p = noisy.predict_proba(X, PAIRS)
    assert ((p >= 0.2) & (p <= 0.8)).all()
    assert noisy.label_noise_ == 0.2
    found = clone(model).set_params(label_noise=None, softness=None).fit(X, PAIRS)
    assert 0 <= found.label_noise_ < 0.3


def test_models_that_are_averaged_have_one_scale():
    model = BayesPointRanker(random_state=seed(0), tol=0.5).fit(X, PAIRS)
    assert len(model.posterior_.models) > 1
    sizes = [one.basis.mean_diagonal for one in model.posterior_.models]
    np.testing.assert_allclose(sizes, sizes[0])
    each = np.stack(
        [one.moments(Differences.rows(model._items(X))) for one in model.posterior_.models]
    )
    weights = model.posterior_.weights
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, weights @ each[:, 0])
    np.testing.assert_allclose(std**2, weights @ (each[:, 1] + each[:, 0] ** 2) - mean**2)
    assert model.score(X, PAIRS) > 0.9


def test_queries_have_the_largest_value_of_a_partner(model):
    f = model.sample_functions(X, random_state=model.random_state).T
    a, b = model.suggest_query(X)
    utility = np.maximum(f[:, None], f).mean(axis=2)
    np.fill_diagonal(utility, -np.inf)
    assert a != b
    assert utility[a, b] == max(utility[a].max(), utility[b].max())
    assert utility[a, b] > np.sort(utility.ravel())[-100]
    hard = BayesPointRanker(kernels.RBF(0.5), softness=0, random_state=0).fit(X, PAIRS[:4])
    assert len(set(hard.suggest_query(X))) == 2


def test_frames_categories_and_kernels_of_scikit_learn(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "x", "y")})
    frame.loc[3, "a"] = np.nan
    found = BayesPointRanker(random_state=seed(0), tol=0.5).fit(frame, PAIRS)
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert found.score(frame, PAIRS) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame[["b", "a"]])
    other = BayesPointRanker(gp.RBF(0.5, "fixed"), softness=0.1, random_state=seed(0)).fit(X, PAIRS)
    np.testing.assert_allclose(other.predict(X), model.predict(X), atol=0.3)
    tuned = BayesPointRanker(gp.RBF(), random_state=seed(0), tol=0.5).fit(X, PAIRS)
    assert tuned.score(X, PAIRS) > 0.9


@pytest.mark.parametrize("kind", ["pairs", "sets", "landmarks"])
def test_files_have_the_same_bits(kind, tmp_path):
    rows = [[1, 2, 3], [4, 5, -1]] if kind == "sets" else PAIRS
    more = {"approximation": "landmarks"} if kind == "landmarks" else {"label_noise": 0.1}
    model = BayesPointRanker(**GIVEN | more | {"tol": 0.5}).fit(X, rows)
    model.save(tmp_path / "ranker.skops")
    again = load(tmp_path / "ranker.skops")
    same(model, again)
    np.testing.assert_array_equal(model.predict_proba(X, PAIRS), again.predict_proba(X, PAIRS))
    np.testing.assert_array_equal(model.suggest_query(X), again.suggest_query(X))
    if kind == "sets":
        found = again.evidence(random_state=seed(1)).value
        assert found == model.evidence(random_state=seed(1)).value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [np.nan, np.inf, -1e300])
def test_forged_numbers_are_refused_or_predict_numbers(number, tmp_path):
    path, refused = tmp_path / "ranker.skops", 0
    model = BayesPointRanker(random_state=seed(0), n_models=1, tol=0.9, n_draws=4)
    model.fit(X, PAIRS[:20]).save(path)
    members, comment = hostile_files.unpacked(path.read_bytes())
    arrays = {name: np.load(io.BytesIO(members[name])) for name in members if "npy" in name}
    arrays = {name: array for name, array in arrays.items() if array.dtype.kind == "f"}
    for name, array in arrays.items():
        array.flat[:1] = number
        forged = io.BytesIO()
        np.save(forged, array)
        path.write_bytes(hostile_files.packed(members | {name: forged.getvalue()}, comment))
        try:
            again = load(path)
            found = [*again.predict(X, return_std=True), again.predict_proba(X, PAIRS)]
        except ValueError:
            refused += 1
        else:
            assert all(np.isfinite(part).all() for part in found), name
    assert len(arrays) > refused > 0


def test_parameters_are_cloned_and_results_repeat(model):
    again = clone(model).set_params(n_jobs=2).fit(X, PAIRS)
    same(model, again)
    assert again.get_params()["n_jobs"] == 2
    assert clone(model).set_params(kernel__sigma=0.7).kernel.sigma == 0.7
    with pytest.raises(ValueError, match="kernel object"):
        BayesPointRanker().set_params(kernel__sigma=0.7)
    with pytest.raises(Exception, match="not fitted"):
        BayesPointRanker().predict(X)


def test_limits_and_progress(capsys):
    with pytest.warns(UserWarning, match="ended the search"):
        BayesPointRanker(max_iter=3, random_state=0, verbose=1, tol=0.5).fit(X, PAIRS)
    assert "billiard" in capsys.readouterr().err


def test_contradictions_need_noise():
    cycle = [[0, 1], [1, 2], [2, 0]]
    with pytest.raises(InfeasibleError, match="softness > 0"):
        BayesPointRanker(kernels.RBF(0.5), softness=0).fit(X, cycle)
    soft = BayesPointRanker(kernels.RBF(0.5), softness=0.1, random_state=0).fit(X, cycle)
    assert (np.abs(soft.predict_proba(X, cycle) - 0.5) < 0.2).all()
    hard = BayesPointRanker(kernels.RBF(0.5), softness=0, label_noise=0.1, random_state=0, tol=0.3)
    hard.fit(X, [*cycle, *PAIRS[:9].tolist()])
    assert hard.score(X, PAIRS[:9]) > 0.5


WRONG = [
    ([[0, 1], [2, 2]], ValueError, r"different items in each row; got \[2, 2\] in row 1"),
    ([[0, 1, 0]], ValueError, "different items"),
    ([[0, 30]], ValueError, r"indices of the 30 rows of X, .* got \[0, 30\] in row 0"),
    ([[0, -2]], ValueError, r"got \[0, -2\]"),
    ([[-1, 3]], ValueError, "chosen item first"),
    ([[3, -1]], ValueError, "two items or more"),
    ([[0.0, 1.0]], TypeError, "whole numbers; got float64"),
    ([[True, False]], TypeError, "whole numbers; got bool"),
    ([[np.nan, 1.0]], TypeError, "whole numbers"),
    ([], ValueError, r"at least one, or .* got shape \(0,\)"),
    (np.empty((0, 2), dtype=int), ValueError, r"got shape \(0, 2\)"),
    ([[1], [2]], ValueError, r"got shape \(2, 1\)"),
    ([[1, 2], 3], ValueError, "y"),
    (np.full(30, 2.0), ValueError, "differ within a group"),
    (np.arange(29), ValueError, "each of the 30 rows"),
    (np.where(np.arange(30) == 3, np.nan, 1.0), ValueError, "NaN|nan"),
    ("ab", ValueError, "y"),
]


@pytest.mark.parametrize(("y", "kind", "text"), WRONG, ids=range(len(WRONG)))
def test_error_names_the_choice(y, kind, text):
    with pytest.raises((kind, TypeError) if kind is ValueError else kind, match=text):
        BayesPointRanker(**GIVEN).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "arguments", "text"),
    [
        ({"label_noise": (0.1, 0.2)}, (X, PAIRS), "label_noise must be one rate"),
        ({"kernel": "precomputed"}, (X, PAIRS), "X must be a dense array"),
        ({"softness": -1}, (X, PAIRS), "softness"),
        ({"tol": 0}, (X, PAIRS), "tol"),
        ({"softness": 0.0}, (X, [[1, 2]]), "y must hold two comparisons or more"),
        ({"approximation": None}, (X, [[1, 2]]), "y must hold two comparisons or more"),
        ({}, (X, PAIRS, np.zeros(30)), "groups must be None for y of choices"),
        ({}, (X, U, np.zeros(29)), "groups must have"),
        ({}, (Blocks([X]), PAIRS), "X must be a dense array or a frame with a row for each item"),
        ({}, (X, Blocks([PAIRS]), np.zeros(30)), "groups must be None for y of choices"),
        ({}, (X, Blocks([PAIRS, [[0, 1, 2]]])), "every block; got 2 in block 0 and 3 in block 1"),
        ({}, (X, Blocks([PAIRS, [[0, 30]]])), r"block 1: y must hold .* got \[0, 30\] in row 0"),
        ({}, (X, Blocks([U])), r"block 0: y must hold choices in blocks.*; got shape \(30,\)"),
        ({}, (X, Blocks([[[0, 1], [2, 3, 1]]])), "block 0: y must be an array of numbers"),
        ({}, (X, Blocks([np.empty((0, 2))])), "y must hold at least one choice"),
        ({"approximation": None}, (X, Blocks([PAIRS])), "'auto' for y in blocks; got None"),
        ({"softness": 0.0}, (X, Blocks([PAIRS])), "softness must be positive or None with y"),
    ],
)
def test_error_names_the_argument(settings, arguments, text):
    with pytest.raises((TypeError, ValueError), match=text):
        BayesPointRanker(**GIVEN | settings).fit(*arguments)


def test_error_names_the_argument_of_a_question(model):
    for pairs in ([[0, 1, 2]], U, [[0, 0]]):
        with pytest.raises(ValueError, match="pairs"):
            model.predict_proba(X, pairs)
    with pytest.raises(ValueError, match="two items or more to compare; got 1"):
        model.suggest_query(X[:1])
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])
