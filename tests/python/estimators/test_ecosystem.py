"""The estimators with tools of scikit-learn, data frames, conformal predictors, other inputs."""

import os

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))
NAMES = ["mass", "age", "dose"]


def classes(n=90, k=2, seed=0):
    centers = [[0, 0, 0], [2, 2, 0], [-2, 2, 0]][:k]
    x, y = make_blobs(n, centers=centers, random_state=np.random.RandomState([SEED, seed]))
    return x, np.array(["ill", "well", "old"])[y]


def pipeline(**settings):
    return Pipeline(
        [
            ("scale", StandardScaler()),
            ("classifier", BayesPointClassifier(random_state=SEED, **settings)),
        ]
    )


# --- tools of scikit-learn ---


@pytest.mark.long
def test_a_grid_search_in_two_processes():
    """A pipeline, over settings and parameters of nested kernels."""
    x, y = classes()
    kernel = 1.0 * kernels.RBF(1.0) + 0.1
    grid = {
        "classifier__softness": [0.1, 0.3],
        "classifier__kernel__0__kernel__sigma": [1e-3, 1.0],
    }
    search = GridSearchCV(
        pipeline(kernel=kernel), grid, cv=3, n_jobs=2, scoring="neg_log_loss"
    ).fit(x, y)
    assert search.best_params_["classifier__kernel__0__kernel__sigma"] == 1.0
    assert search.best_estimator_[-1].kernel_.parts[0].kernel == kernels.RBF(1.0)
    # BLAS has fewer threads in workers, and rounds differently.
    serial = clone(search).set_params(n_jobs=None).fit(x, y)
    np.testing.assert_allclose(
        serial.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-6
    )


# --- data frames ---


def frame(library, x):
    module = pytest.importorskip(library)
    table = module.DataFrame({name: x[:, k] for k, name in enumerate(NAMES)})
    if not hasattr(StandardScaler().fit(table), "feature_names_in_"):
        pytest.skip(
            f"scikit-learn {sklearn.__version__} knows no names of {library} {module.__version__}"
        )
    return module, table


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "model", [BayesPointClassifier(random_state=0), MaxMarginClassifier(), KernelPerceptron("poly")]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_data_frames(library, model):
    x, y = classes()
    module, table = frame(library, x)
    expected = clone(model).fit(x, y)
    model = clone(model).fit(table, module.Series(y.tolist()))
    assert model.feature_names_in_.tolist() == NAMES
    assert model.classes_.tolist() == ["ill", "well"]
    np.testing.assert_array_equal(model.predict(table), expected.predict(x))
    kind = "category" if library == "pandas" else module.Categorical
    labels = module.Series(y.tolist(), dtype=kind)
    assert clone(model).fit(table, labels).classes_.tolist() == ["ill", "well"]
    assert model.score(table, module.Series(y.tolist())) > 0.7
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[NAMES[::-1]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(x)


def visits(n=300):
    """Return a frame of strings, dates and numbers with holes, and labels that depend on each."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng([SEED, 7])
    day = rng.integers(0, 700, n)
    table = pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            "date": pd.Timestamp("2023-01-01") + pd.to_timedelta(day, unit="D"),
            "dose": rng.standard_normal(n),
            "note": [f"note {k} of {name}" for k, name in enumerate(rng.choice(["a", "b"], n))],
        }
    )
    latent = 2 * (table["city"] == "Rome") + 3 * (day > 365) + 2 * table["dose"] - 2
    y = np.where(latent > 0, "ill", "well")
    table.loc[rng.random(n) < 0.05, "dose"] = np.nan
    table.loc[rng.random(n) < 0.05, "city"] = None
    table.loc[rng.random(n) < 0.05, "date"] = pd.NaT
    return table, y


def test_the_tabular_pipeline_of_skrub_takes_a_frame_as_it_is():
    skrub = pytest.importorskip("skrub")
    table, y = visits()
    model = skrub.tabular_pipeline(BayesPointClassifier(random_state=SEED))
    model.fit(table[:150], y[:150])
    assert model.classes_.tolist() == ["ill", "well"]
    chance = np.mean(y[:150] == "ill")
    base = log_loss(y[150:], np.tile([chance, 1 - chance], (150, 1)))
    assert log_loss(y[150:], model.predict_proba(table[150:])) < 0.8 * base
    with pytest.warns(UserWarning, match="unknown categories"):
        proba = model.predict_proba(table[150:].assign(city="Quito"))
    assert np.isfinite(proba).all()


@pytest.mark.long
def test_a_session_with_the_usual_tools():
    """A session as in scikit-learn, with a frame of polars and names of classes."""
    pl = pytest.importorskip("polars")
    data = load_breast_cancer()
    X = pl.DataFrame(data.data[:230], schema=[str(name) for name in data.feature_names])
    y = pl.Series("tumor", [str(data.target_names[k]) for k in data.target[:230]])
    held_X, held_y, X, y = X[160:], y[160:], X[:160], y[:160]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=SEED, stratify=y)
    model = Pipeline([("scale", StandardScaler()), ("bpc", BayesPointClassifier())])
    search = GridSearchCV(model, {"bpc__kernel": [None, "linear"]}, n_jobs=2, cv=3)
    search.fit(X_train, y_train)
    assert search.classes_.tolist() == ["benign", "malignant"]
    assert search.score(X_test, y_test) > 0.8
    base = log_loss(y_test, np.full((40, 2), 0.5))
    assert log_loss(y_test, search.predict_proba(X_test)) < 0.6 * base
    # Calibration on held-out rows.
    calibrated = CalibratedClassifierCV(FrozenEstimator(search.best_estimator_))
    calibrated.fit(held_X, held_y)
    assert calibrated.feature_names_in_.tolist() == X.columns
    assert log_loss(y_test, calibrated.predict_proba(X_test)) < 0.8 * base


# --- conformal predictors ---


def assert_covers(held, y, confidence, n_calibrated):
    """The coverage has a beta-binomial law, and not all sets contain all classes."""
    n = len(y)
    k = int(np.ceil(confidence * (n_calibrated + 1)))
    law = stats.betabinom(n, k, n_calibrated + 1 - k)
    low, high = law.ppf([1e-6, 1 - 1e-6])
    assert low <= held[np.arange(n), y].sum() <= high
    assert held.sum(axis=1).mean() < held.shape[1] - 1


def conformal_data():
    x, y = classes(700, k=3)
    index = np.searchsorted(["ill", "old", "well"], y)
    model = pipeline(tol=0.1).fit(x[:150], index[:150])
    return model, (x[150:400], index[150:400]), (x[400:], index[400:])


def test_mapie():
    """Prediction sets of a given coverage, from a fitted pipeline and held-out examples."""
    module = pytest.importorskip("mapie.classification", reason="no wheel of MAPIE here")
    model, (x, y), (new, truth) = conformal_data()
    conformal = module.SplitConformalClassifier(model, confidence_level=0.9, prefit=True)
    predicted, sets = conformal.conformalize(x, y).predict_set(new)
    np.testing.assert_array_equal(predicted, model.predict(new))
    assert_covers(sets[:, :, 0], truth, 0.9, len(y))


def test_crepes():
    module = pytest.importorskip("crepes", reason="no wheel of crepes here")
    model, (x, y), (new, truth) = conformal_data()
    wrapped = module.WrapClassifier(model)
    wrapped.calibrate(x, y, seed=SEED)
    sets = wrapped.predict_set(new, confidence=0.9, labels=False, seed=SEED)
    assert_covers(np.asarray(sets), truth, 0.9, len(y))


# --- inputs other than vectors ---


def strings(n=90, seed=0):
    """Strings over two letters; in one class runs are longer."""
    rng = np.random.default_rng([SEED, seed])
    y = np.resize([0, 1], n)
    turns = [rng.random(20) < (0.7 if label else 0.2) for label in y]
    return ["".join(np.where(np.cumsum(turn) % 2, "a", "b")) for turn in turns], y


def upper(texts):
    return [text.upper() for text in texts]


@pytest.mark.long
@pytest.mark.parametrize("classifier", [BayesPointClassifier, MaxMarginClassifier])
def test_strings_in_pipelines_and_searches(classifier):
    texts, y = strings()
    settings = {"random_state": SEED} if classifier is BayesPointClassifier else {}
    model = make_pipeline(
        FunctionTransformer(upper), classifier(kernels.normalize(kernels.Spectrum(1)), **settings)
    )
    name = model.steps[-1][0]
    grid = {f"{name}__kernel__kernel__length": [1, 2]}
    search = GridSearchCV(model, grid, cv=3, n_jobs=2).fit(texts, y)
    assert search.best_params_ == {f"{name}__kernel__kernel__length": 2}
    assert search.best_score_ > 0.75
    assert cross_val_score(search.best_estimator_, texts, y, cv=3).mean() == search.best_score_
    tags = search.best_estimator_[-1].__sklearn_tags__().input_tags
    assert (tags.one_d_array, tags.two_d_array, tags.sparse) == (True, False, False)
    new, truth = strings(100, seed=1)
    assert search.score(new, truth) > 0.7
    series = pytest.importorskip("polars").Series
    fitted = search.best_estimator_[-1]
    np.testing.assert_array_equal(fitted.predict(series(new)), fitted.predict(new))


def test_sets_in_a_cross_validation():
    rng = np.random.default_rng([SEED, 2])
    y = np.resize(["x", "y"], 60)
    law = {name: rng.dirichlet(np.full(12, 0.3)) for name in "xy"}
    sets = [set(rng.choice(12, 6, p=law[name]).tolist()) for name in y]
    model = BayesPointClassifier(kernels.normalize(kernels.SetIntersection(2.0)), random_state=SEED)
    p = cross_val_predict(model, sets, y, cv=3, method="predict_proba")
    assert log_loss(y, p) < 0.6
