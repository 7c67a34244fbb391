"""The estimators with tools of scikit-learn, data frames, conformal predictors, other inputs."""

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
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import SHIFT as SEED

NAMES = ["mass", "age", "dose"]


def classes(n=90, k=2, seed=0):
    centers = [[0, 0, 0], [2, 2, 0], [-2, 2, 0]][:k]
    x, y = make_blobs(n, centers=centers, random_state=np.random.RandomState([SEED, seed]))
    return x, np.array(["ill", "well", "old"])[y]


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


def test_mapie():
    """Prediction sets of a given coverage, from a fitted pipeline and held-out examples."""
    module = pytest.importorskip("mapie.classification", reason="no wheel of MAPIE here")
    x, y = classes(700, k=3)
    y = np.searchsorted(["ill", "old", "well"], y)
    model = make_pipeline(StandardScaler(), BayesPointClassifier(random_state=SEED, tol=0.1))
    model.fit(x[:150], y[:150])
    conformal = module.SplitConformalClassifier(model, confidence_level=0.9, prefit=True)
    predicted, sets = conformal.conformalize(x[150:400], y[150:400]).predict_set(x[400:])
    np.testing.assert_array_equal(predicted, model.predict(x[400:]))
    # The coverage has a beta-binomial law, and not all sets contain all classes.
    k = int(np.ceil(0.9 * 251))
    low, high = stats.betabinom(300, k, 251 - k).ppf([1e-6, 1 - 1e-6])
    held = sets[:, :, 0]
    assert low <= held[np.arange(300), y[400:]].sum() <= high
    assert held.sum(axis=1).mean() < 2


# --- inputs other than vectors ---


def test_sets_in_a_cross_validation():
    rng = np.random.default_rng([SEED, 2])
    y = np.resize(["x", "y"], 60)
    law = {name: rng.dirichlet(np.full(12, 0.3)) for name in "xy"}
    sets = [set(rng.choice(12, 6, p=law[name]).tolist()) for name in y]
    model = BayesPointClassifier(kernels.normalize(kernels.SetIntersection(2.0)), random_state=SEED)
    p = cross_val_predict(model, sets, y, cv=3, method="predict_proba")
    assert log_loss(y, p) < 0.6
