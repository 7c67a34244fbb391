"""Tables go in as they are: categories, dates and missing values, as a new user has them."""

import pickle
import warnings

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, kernels
from bayespoint.blocks import Blocks
from bayespoint.data import frames
from bayespoint.data.columns import Columns
from bayespoint.papers.max_margin import MaxMarginClassifier
from helpers import seed

pandas = pytest.importorskip("pandas")

QUICK = {"n_models": 1, "tol": 0.3, "random_state": 0}
COLUMNS = ("when", "flag", "color", "city", "size", "age")


def table(n=240, index=0):
    """Return a frame with a date, a boolean, two categories and holes, and labels."""
    rng = np.random.default_rng((seed(6), index))
    days = rng.integers(0, 900, n)
    frame = pandas.DataFrame(
        {
            "when": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(days, unit="D"),
            "flag": pandas.array(rng.random(n) < 0.4, dtype="boolean"),
            "color": pandas.Categorical(rng.choice(["red", "green", "blue"], n)),
            "city": np.char.add("c", rng.integers(0, 80, n).astype(str)),
            "size": rng.standard_normal(n),
            "age": rng.exponential(size=n),
        }
    )
    value = frame["size"] + 2.0 * (frame["color"] == "red") + frame["flag"].to_numpy(bool)
    y = np.where(value + 0.3 * rng.standard_normal(n) > 1, "yes", "no")
    for name in COLUMNS:
        frame.loc[rng.random(n) < 0.15, name] = None
    return frame, y


@pytest.fixture(scope="module")
def fitted():
    frame, y = table()
    return BayesPointClassifier(**QUICK).fit(frame, y), frame, y


def test_from_fit_to_relevance_without_a_warning():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from bayespoint.plotting import RelevanceDisplay

    frame, y = table(400)
    new, labels = table(400, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BayesPointClassifier(tol=0.3, random_state=0).fit(frame, y)
        assert model.score(new, labels) > 0.8
        RelevanceDisplay.from_estimator(model)
    assert tuple(model.feature_relevance_.names) == COLUMNS
    relevance = model.feature_relevance_
    assert ((relevance.low <= relevance.mean) & (relevance.mean <= relevance.high)).all()
    weights = dict(zip(COLUMNS, relevance.mean, strict=True))
    assert min(weights["size"], weights["color"]) > max(weights["age"], weights["city"])
    assert isinstance(model.columns_, Columns)
    assert repr(model.columns_) == "<Columns: 1 date, 3 category, 2 number>"


def test_polars_gives_the_same(fitted):
    polars = pytest.importorskip("polars")
    model, frame, y = fitted
    values = {
        name: [None if pandas.isna(one) else one for one in column.astype(object)]
        for name, column in frame.items()
    }
    values["when"] = [None if day is None else day.to_pydatetime() for day in values["when"]]
    other = polars.DataFrame(values)
    same = BayesPointClassifier(**QUICK).fit(other, y)
    np.testing.assert_array_equal(same.predict_proba(other), model.predict_proba(frame))
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))


@pytest.mark.parametrize(
    "kernel", [kernels.RBF(), kernels.Weighted(kernels.Matern()), "linear", "rbf", kernels.RBF(2.0)]
)
def test_kernels_of_the_user(kernel):
    frame, y = table(150)
    model = BayesPointClassifier(kernel, **QUICK).fit(frame, y)
    assert model.score(frame, y) > 0.7
    assert model.kernel_.limits == model.columns_.limits


def test_arrays_with_holes_and_with_strings():
    rng = np.random.default_rng(seed(7))
    X = rng.standard_normal((80, 2))
    y = X[:, 0] > 0
    X[rng.random((80, 2)) < 0.1] = np.nan
    model = BayesPointClassifier(**QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (80, 2)
    mixed = np.array([["a", 1.0, None], ["b", None, 2.0]] * 20, dtype=object)
    labels = mixed[:, 0] == "a"
    model = BayesPointClassifier(**QUICK).fit(mixed, labels)
    assert [one.kind for one in model.columns_.columns] == ["category", "number", "number"]
    assert model.score(mixed, labels) == 1.0


def test_a_level_that_only_one_block_has():
    frame, y = table(360)
    frame["size"] = frame["size"].fillna(0.0)
    frame.loc[342, "color"] = None
    frame["color"] = frame["color"].astype(object)
    frame.loc[345, "color"] = "violet"
    frame.loc[346, "size"] = np.nan
    blocks = Blocks([frame[k : k + 20] for k in range(0, 360, 20)])
    settings = QUICK | {"n_components": 20}
    model = BayesPointClassifier(**settings).fit(blocks, y)
    assert "violet" in model.columns_.columns[2].levels
    whole = BayesPointClassifier(approximation="landmarks", **settings).fit(frame, y)
    assert model.columns_.limits == pytest.approx(whole.columns_.limits)
    assert model.columns_.groups == whole.columns_.groups
    np.testing.assert_array_equal(model.predict(blocks), model.predict(frame))
    assert model.score(frame, y) > 0.75


def test_blocks_of_several_kinds_are_named():
    frame, y = table(100)
    blocks = Blocks([frame[:50], frame[50:].assign(city=1.0)])
    with pytest.raises(
        TypeError, match=r"blocks 0 and 1: column 'city' of X .* categories and numb"
    ):
        BayesPointClassifier(**QUICK).fit(blocks, y)


def test_empty_blocks_have_no_predictions(fitted):
    model, frame, _ = fitted
    found = model.predict_proba(Blocks([frame[:0], frame[:3], frame[:0]]))
    np.testing.assert_array_equal(found, model.predict_proba(frame[:3]))
    assert model.predict(Blocks([frame[:0]])).shape == (0,)
    assert model.predict_proba(Blocks([frame[:0]])).shape == (0, 2)


def test_frames_of_dask():
    pytest.importorskip("pyarrow")
    dask = pytest.importorskip("dask.dataframe")
    frame, y = table(200)
    parts = dask.from_pandas(frame, npartitions=2)
    labels = dask.from_pandas(pandas.Series(y, index=frame.index), npartitions=2)
    model = BayesPointClassifier(n_components=20, **QUICK).fit(parts, labels)
    found = model.predict_proba(parts).compute()
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-9)
    with pytest.raises(ValueError, match="in this order"):
        model.predict(parts[list(COLUMNS[::-1])])


def changed(**values):
    """Return what gives a frame other columns."""
    return lambda frame: frame.assign(**values)


def pl_lazy(frame):
    """Return a frame of polars that is not in memory."""
    return pytest.importorskip("polars").from_pandas(frame[["size"]]).lazy()


LONG = [f"row {k}: {'many words, ' * 5}" for k in range(240)]
BAD_FITS = [
    (changed(size=np.inf), {}, ValueError, "column 'size'"),
    (changed(age=1j), {}, TypeError, "column 'age'"),
    (changed(note=LONG), {}, ValueError, "column 'note' of X must hold categories; it holds text"),
    (changed(city=np.resize(np.array([1, "a"], object), 240)), {}, TypeError, "column 'city'"),
    (changed(city=[{"a": 1}] * 240), {}, TypeError, "column 'city' of X .* one kind; got dict"),
    (changed(city=[[1]] * 240), {}, TypeError, "column 'city' of X .* one kind; got list"),
    (lambda frame: frame.iloc[:, [3, 3]], {}, ValueError, "different names.*'city' twice"),
    (
        lambda frame: frame.rename(columns={"city": 3}),
        {},
        TypeError,
        "all input features have string",
    ),
    (lambda frame: frame[[]], {}, ValueError, "at least one column"),
    (lambda frame: Blocks([frame[[]]]), {}, ValueError, "block 0: X"),
    (pl_lazy, {}, TypeError, "frame in memory; got LazyFrame"),
    (lambda frame: frame[["city"]].to_numpy().tolist(), {}, ValueError, "an array of objects"),
    (lambda frame: frame[:9], {}, ValueError, "inconsistent numbers"),
    (changed(), {"categorical_features": ["when"]}, TypeError, "'when'.*got dates"),
    (changed(), {"categorical_features": None}, TypeError, "column 'color' of X"),
    (changed(), {"categorical_features": ["hue"]}, ValueError, "name columns.*'hue'"),
    (changed(), {"categorical_features": [9]}, ValueError, "name columns of X; got 9"),
    (changed(), {"categorical_features": "all"}, ValueError, "categorical_features"),
    (changed(), {"kernel": np.dot}, TypeError, "X must hold numbers only for"),
]


@pytest.mark.parametrize(("change", "settings", "kind", "text"), BAD_FITS)
def test_bad_frames_are_refused_by_name_and_nothing_is_fitted(change, settings, kind, text):
    frame, y = table()
    with pytest.raises(kind, match=text):
        BayesPointClassifier(**QUICK | settings).fit(change(frame), y)


def test_a_refused_fit_leaves_the_one_before(fitted):
    model, frame, y = fitted
    model, before = pickle.loads(pickle.dumps(model)), model.predict_proba(frame)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(frame.assign(size=np.inf), y)
    np.testing.assert_array_equal(model.predict_proba(frame), before)


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        (lambda frame: frame.drop(columns="city"), ValueError, "city"),
        (lambda frame: frame[[*COLUMNS[1:], "when"]], ValueError, "order"),
        (changed(more=1.0), ValueError, "more"),
        (changed(size="x"), TypeError, "column 'size' of X must hold numbers, as in fit"),
        (changed(when=1.0), TypeError, "column 'when' of X must hold dates, as in fit"),
        (changed(size=np.inf), ValueError, "column 'size' of X must not hold infinity"),
        (lambda frame: frame.to_numpy()[:, :3], ValueError, "3 features"),
    ],
)
def test_bad_rows_are_refused_by_name(fitted, change, kind, text):
    model, frame, _ = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=text):
            model.predict(change(frame))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_counted_by_row(missing):
    frame, y = table(50)
    labels = y.astype(object)
    labels[7] = missing
    with pytest.raises(ValueError, match=r"y must not lack labels; got .* in row 7"):
        BayesPointClassifier(**QUICK).fit(frame, labels)
    with pytest.raises(ValueError, match="y must not lack labels"):
        BayesPointClassifier(**QUICK).fit(frame, pandas.Series(labels, dtype="string"))


@pytest.mark.parametrize("unit", ["m8[h]", "M8[h]"])
def test_times_are_not_taken_for_numbers(unit):
    hours = (24 * np.arange(60) + np.zeros((3, 1), dtype=int)).T.astype(unit)
    y, objects = np.arange(60) > 30, np.array([list(row) for row in hours], dtype=object)
    for X in (hours, objects, pandas.DataFrame(hours)):
        model = BayesPointClassifier(kernels.RBF(2.0), softness=0.1, random_state=0).fit(X, y)
        kinds = {column.kind for column in model.columns_.columns}
        assert kinds == {"date" if unit == "M8[h]" else "number"}
        days = model.columns_.features(frames.typed(X).read_as(model.columns_))[:, 0]
        assert np.ptp(days) == pytest.approx(59 / (365.2425 if unit == "M8[h]" else 1))
    gram = np.eye(60)
    precomputed = BayesPointClassifier("precomputed", softness=0.1, random_state=0).fit(gram, y)
    margin = MaxMarginClassifier().fit(np.stack([y, y, ~y], axis=1), y)
    for predict, X in (
        (precomputed.predict, gram.astype("i8").astype(unit)),
        (margin.predict, hours),
        (margin.predict, pandas.DataFrame(hours)),
        (lambda X: MaxMarginClassifier().fit(X, y), hours),
        (lambda X: BayesPointClassifier(**QUICK).fit(X, y), objects.tolist()),
    ):
        with pytest.raises(TypeError, match=r"X must hold real numbers; got .*64"):
            predict(X)


def test_a_row_does_not_depend_on_the_rows_beside_it():
    frame, y = table(100)
    frame["color"] = np.full(100, None)  # no level was seen
    long = [f"category {k % 60} with a long description that goes on and on" for k in range(100)]
    frame["city"] = long
    settings = QUICK | {"categorical_features": ["city", "color", "flag"]}
    model = BayesPointClassifier(**settings).fit(frame, y)
    new = frame[:6].assign(color=list("pqrpqr"))
    each = np.concatenate([model.predict_proba(new[k : k + 1]) for k in range(6)])
    np.testing.assert_allclose(model.predict_proba(new), each, atol=1e-9)
