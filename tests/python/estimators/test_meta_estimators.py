"""Meta-estimators and displays of scikit-learn: labels that are names do as well as numbers."""

import numpy as np
import pytest
from sklearn import calibration, ensemble, inspection, metrics, multiclass, multioutput
from sklearn import feature_selection as features
from sklearn import model_selection as selection
from sklearn.compose import make_column_transformer
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, kernels
from helpers import seed

GIVEN = {"kernel": kernels.RBF(2.0), "softness": 0.1, "tol": 0.2, "random_state": seed(0)}
# From the lowest level on. Names of ordered classes do not sort like that.
NAMES = {
    BayesPointClassifier: ["a", "b", "c"],
    BayesPointOrdinalClassifier: ["low", "medium", "high"],
}
RNG = np.random.default_rng(seed(1))
X, NEW = RNG.uniform(-2, 2, (2, 60, 2))
LEVEL, LEVEL_NEW = (np.digitize(x[:, 0], [-0.6, 0.6]) for x in (X, NEW))
CALIBRATED, GRID = calibration.CalibratedClassifierCV, {"softness": [0.1, 1.0]}
BY = {"cv": 2, "scoring": "roc_auc_ovr"}


def answers(kind, ask, first=0):
    """Return what `ask(model, labels)` gives for names of levels and for numbers."""
    names = np.array(NAMES[kind][first:])
    named = kind(**GIVEN) if kind is BayesPointClassifier else kind(classes=names, **GIVEN)
    return ask(named, names), ask(kind(**GIVEN), np.arange(3 - first))


KEEP = {
    "sigmoid": lambda m, _: CALIBRATED(m, cv=3),
    "isotonic": lambda m, _: CALIBRATED(m, cv=3, method="isotonic"),
    "frozen": lambda m, y: CALIBRATED(FrozenEstimator(m.fit(X, y))),
    "boosting": lambda m, _: ensemble.AdaBoostClassifier(m, n_estimators=2, random_state=0),
    "prefit": lambda m, y: ensemble.StackingClassifier([("a", m.fit(X, y))], cv="prefit"),
    "RFE": lambda m, _: features.RFE(m, n_features_to_select=1),
    "RFECV": lambda m, _: features.RFECV(m, **BY),
    "from model": lambda m, _: make_pipeline(features.SelectFromModel(m), m),
    "sequential": lambda m, _: make_pipeline(features.SequentialFeatureSelector(m, **BY), m),
    "grid": lambda m, _: selection.GridSearchCV(m, GRID, **BY),
    "random": lambda m, _: selection.RandomizedSearchCV(m, GRID, n_iter=2, random_state=0, **BY),
    "halving": lambda m, _: selection.HalvingGridSearchCV(m, GRID, random_state=0, **BY),
    "columns": lambda m, _: make_pipeline(
        make_column_transformer((StandardScaler(), [0])), m
    ).set_output(transform="pandas"),
}
ENCODE = {
    "hard": lambda m, _: ensemble.VotingClassifier([("a", m)]),
    "soft": lambda m, _: ensemble.VotingClassifier([("a", m)], voting="soft"),
    "stacking": lambda m, _: ensemble.StackingClassifier([("a", m)], cv=2),
    "final": lambda m, _: ensemble.StackingClassifier([("b", LogisticRegression())], m, cv=2),
    "bagging": lambda m, _: ensemble.BaggingClassifier(m, 2, random_state=0),
    "OvR": lambda m, _: multiclass.OneVsRestClassifier(m),
    "OvO": lambda m, _: multiclass.OneVsOneClassifier(m),
    "codes": lambda m, _: multiclass.OutputCodeClassifier(m, code_size=3, random_state=0),
}
if "temperature" in CALIBRATED.__doc__:  # scikit-learn 1.8
    ENCODE["temperature"] = lambda m, _: CALIBRATED(m, cv=2, method="temperature")


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("name", KEEP | ENCODE)
def test_tools(kind, name):
    """Tools that encode labels lose the order of names, which is refused."""

    def ask(model, labels):
        tool = (KEEP | ENCODE)[name](model, labels[LEVEL]).fit(X, labels[LEVEL])
        assert tool.score(NEW, labels[LEVEL_NEW]) > 0.7
        if not hasattr(tool, "predict_proba"):
            return tool.predict(NEW)[:, None] == labels
        return tool.predict_proba(NEW)[:, np.argsort(np.argsort(labels))]

    if name in ENCODE and kind is BayesPointOrdinalClassifier:
        with pytest.raises(ValueError, match="A meta-estimator that encodes labels"):
            answers(kind, ask)
        ask(kind(**GIVEN), np.arange(3))
    else:
        np.testing.assert_allclose(*answers(kind, ask), rtol=1e-6)


def scores(model, k, y):
    names = ["neg_log_loss", "roc_auc_ovr", "accuracy"]
    found = selection.cross_validate(model, X, y, cv=3, scoring=names)
    assert found["test_neg_log_loss"].min() > -0.8
    return [found[f"test_{name}"] for name in names]


def self_trained(model, k, y):
    labels = y.astype(object if y.dtype.kind == "U" else int)
    labels[::2] = -1
    return SelfTrainingClassifier(model).fit(X, labels).predict(NEW)[:, None] == k


ASK = {
    "scores": scores,
    "self-training": self_trained,
    "outputs": lambda m, k, y: (
        multioutput.MultiOutputClassifier(m).fit(X, np.c_[y, y[::-1]]).predict(NEW)[..., None] == k
    ),
    "predict": lambda m, k, y: selection.cross_val_predict(m, X, y, cv=3)[:, None] == k,
    "learning": lambda m, k, y: selection.learning_curve(m, X, y, train_sizes=[1.0], **BY)[2],
    "validation": lambda m, k, y: selection.validation_curve(
        m, X, y, param_name="softness", param_range=GRID["softness"], **BY
    )[1],
    "permuted": lambda m, k, y: selection.permutation_test_score(
        m, X, y, n_permutations=2, random_state=0, **BY
    )[1],
    "importance": lambda m, k, y: (
        inspection.permutation_importance(
            m.fit(X, y), X, y, n_repeats=2, random_state=0, scoring="neg_log_loss"
        ).importances
    ),
    "dependence": lambda m, k, y: (
        inspection.PartialDependenceDisplay.from_estimator(
            m.fit(X, y), X, [0], target=k[2], grid_resolution=4
        )
        .lines_[0, 0]
        .get_ydata()
    ),
    "boundary": lambda m, k, y: (
        inspection.DecisionBoundaryDisplay.from_estimator(
            m.fit(X, y),
            X,
            class_of_interest=k[2],
            response_method="predict_proba",
            grid_resolution=5,
        ).response
    ),
    "confusion": lambda m, k, y: (
        metrics.ConfusionMatrixDisplay.from_estimator(m.fit(X, y), X, y, labels=k).confusion_matrix
    ),
}
DISPLAYS = [
    (metrics.RocCurveDisplay, "roc_auc"),
    (metrics.DetCurveDisplay, "fnr"),
    (metrics.PrecisionRecallDisplay, "average_precision"),
    (calibration.CalibrationDisplay, "prob_pred"),
]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("name", ASK)
def test_questions(kind, name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    np.testing.assert_allclose(*answers(kind, lambda m, k: ASK[name](m, k, k[LEVEL])), rtol=1e-6)
    pyplot.close("all")


@pytest.mark.parametrize("kind", NAMES)
def test_two_classes(kind):
    pyplot = pytest.importorskip("matplotlib.pyplot")

    def ask(model, k):
        y, scoring = k[np.minimum(LEVEL, 1)], metrics.make_scorer(metrics.f1_score, pos_label=k[1])
        tuned = selection.TunedThresholdClassifierCV(model, cv=3, scoring=scoring).fit(X, y)
        fixed = selection.FixedThresholdClassifier(model, threshold=0.3, pos_label=k[1]).fit(X, y)
        model.fit(X, y)
        drawn = [
            getattr(display.from_estimator(model, X, y, pos_label=k[1]), value)
            for display, value in DISPLAYS
        ]
        return np.hstack([*drawn, tuned.predict(NEW) == k[1], fixed.predict(NEW) == k[1]])

    found = answers(kind, ask, first=1)
    pyplot.close("all")
    assert found[0][0] > 0.9
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_chains_want_numbers():
    chain = multioutput.ClassifierChain(BayesPointClassifier(**GIVEN))
    chain.fit(X, np.c_[LEVEL, LEVEL])
    with pytest.raises(ValueError, match="could not convert string"):
        chain.fit(X, np.take(["a", "b", "c"], np.c_[LEVEL, LEVEL]))
