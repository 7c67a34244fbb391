"""Predictions of exported ONNX graphs in other runtimes."""

import sys

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, kernels
from bayespoint.export.onnx import to_onnx
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import seed

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(40, 3)) * [1.0, 10.0, 0.1] + 3.0
NEW = np.concatenate([RNG.normal(size=(30, 3)) * [1.0, 10.0, 0.1] + 3.0, X[:3], X[:1] * 1e3])
SCORE = X[:, 0] + X[:, 1] / 10 + 0.5 * RNG.normal(size=40)
TWO, THREE = np.mean(SCORE) < SCORE, np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.7]))
GIVEN = {"softness": 0.3, "tol": 0.3, "random_state": seed(0), "n_draws": 20}
KERNELS = [
    kernels.Linear(),
    kernels.Polynomial(3, coef0=0.5),
    kernels.RBF([1.0, 10.0, 0.1]),
    kernels.Laplacian(3.0),
    kernels.Matern(2.0, nu=0.5),
    kernels.Matern([1.0, 10.0, 0.1], nu=1.5),
    2.0 * kernels.Matern(3.0, nu=2.5) + 0.1 * kernels.Linear() + 0.5,
    kernels.normalize(kernels.Polynomial(2, 1.0)) * kernels.RBF(5.0),
    kernels.RationalQuadratic(3.0, alpha=0.3),
    0.5 * kernels.RationalQuadratic([1.0, 10.0, 0.1], alpha=20.0),
    kernels.normalize(kernels.Polynomial(2, 1.0)),
    kernels.Weighted(kernels.RBF(1.0), [0.1, 10.0], groups=[0, 0, 1]),
]
CATEGORIES = kernels.Weighted(kernels.RBF(1.0), [1.0] * 3, limits=[np.inf, np.inf, 1e6])


def runtimes():
    """Yield functions that run a graph on inputs."""

    def by_reference(model, inputs):
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(model).run(None, {"X": inputs})

    yield pytest.param(by_reference, id="reference")

    def by_onnxruntime(model, inputs):
        runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        session = runtime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return session.run(None, {"X": inputs})

    yield pytest.param(by_onnxruntime, id="onnxruntime")


def rounding(model, inputs):
    """Return the rounding error of sums of kernel values that cancel."""
    cubic = kernels.Polynomial(3, coef0=0.5)
    if isinstance(model, BayesPointClassifier) and model.kernel_ == cubic:
        # The variance, at least the softness, is a difference of numbers as large as k(x, x).
        own = 5 * np.finfo(float).eps * model.kernel_.diag(inputs) / model.softness_
        return np.minimum(own, 1e-6) * np.abs(model.decision_function(inputs))
    if not isinstance(model, MaxMarginClassifier) or not hasattr(model, "X_fit_"):
        return 0.0
    terms = np.abs(kernels.evaluate(model.kernel_, inputs, model.X_fit_))
    sums = terms @ np.abs(model.dual_coef_).T / model.norm_
    return 10 * np.finfo(float).eps * np.reshape(sums, model.decision_function(inputs).shape)


def compare(model, run, inputs=NEW, tol=1e-8):
    graph = to_onnx(model)
    found = dict(
        zip([output.name for output in graph.graph.output], run(graph, inputs), strict=True)
    )
    expected = model.decision_function(inputs)
    allowed = tol * (1 + np.abs(expected)) + rounding(model, inputs)
    models = getattr(model, "models_", ())
    if len(models) > 1 or (models and expected.ndim > 1):
        # They follow from probabilities, in single precision.
        difference = special.ndtr(found["decision"]) - special.ndtr(expected)
        assert np.abs(difference).max() < 2e-6
    else:
        assert (np.abs(found["decision"] - expected) <= allowed).all()
    labels = found["label"]
    assert labels.shape == (len(inputs),)
    clear = np.abs(expected) > 1e-6 if expected.ndim == 1 else np.ptp(expected, axis=1) > 1e-6
    assert clear.sum() > 20
    assert (labels[clear] == model.predict(inputs)[clear]).all()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(
            found["probabilities"], model.predict_proba(inputs), rtol=0, atol=2e-6
        )
    else:
        assert "probabilities" not in found


@pytest.mark.parametrize("run", runtimes())
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels(kernel, run):
    # This kernel depends to first order on distances, which are roots of rounded squares.
    tol = 1e-6 if getattr(kernel, "nu", None) == 0.5 else 1e-8
    compare(BayesPointClassifier(kernel, **GIVEN).fit(X, TWO), run, tol=tol)


@pytest.mark.parametrize("run", runtimes())
@pytest.mark.parametrize(
    "estimator",
    [
        BayesPointClassifier(random_state=seed(0), tol=0.3, n_draws=20),
        BayesPointClassifier(label_noise=None, random_state=seed(0), tol=0.3, n_draws=20),
        BayesPointClassifier(label_noise=0.1, **GIVEN),
        BayesPointClassifier("linear", **(GIVEN | {"softness": 0.0}), label_noise=0.2),
        BayesPointClassifier("rbf", fit_intercept=False, **GIVEN),
        BayesPointClassifier("rbf", calibration="leave-one-out", label_noise=0.1, **GIVEN),
        MaxMarginClassifier(softness=0.1),
        MaxMarginClassifier("poly", C=10.0, fit_intercept="free"),
        KernelPerceptron(kernels.RBF(2.0), softness=0.1, max_epochs=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_classifiers(estimator, y, run):
    compare(clone(estimator).fit(X, y), run)


@pytest.mark.parametrize("run", runtimes())
def test_two_noise_rates(run):
    model = BayesPointClassifier("rbf", label_noise=(0.05, 0.2), **GIVEN).fit(X, TWO)
    compare(model, run)


@pytest.mark.long
@pytest.mark.parametrize("run", runtimes())
@pytest.mark.parametrize(
    "classes", [["no", "jä"], [-3, 2**40], [0.5, 1.0], np.array(["a", "b"], dtype=object)], ids=str
)
def test_labels_of_all_kinds(classes, run):
    y = np.asarray(classes)[TWO.astype(int)]
    if y.dtype.kind == "f":
        y = 2 * y  # scikit-learn takes fractions for a regression
    compare(BayesPointClassifier("rbf", **GIVEN).fit(X, y), run)


def test_without_probabilities_the_graph_has_none():
    model = BayesPointClassifier("rbf", **GIVEN).fit(X, TWO)
    graph = to_onnx(model, probabilities=False)
    assert [output.name for output in graph.graph.output] == ["label", "decision"]


@pytest.mark.parametrize(
    ("estimator", "inputs", "message"),
    [
        (BayesPointClassifier("precomputed", **GIVEN), X @ X.T, "precomputed"),
        (BayesPointClassifier(lambda A, B: A @ B.T, **GIVEN), X, "must be made of Linear"),
        (BayesPointClassifier(gp.RBF(1.0), **GIVEN), X, "must be made of Linear"),
        (BayesPointClassifier(kernels.Spectrum(2), **GIVEN), [str(x) for x in X[:, 0]], "vectors"),
        (BayesPointClassifier(CATEGORIES, **GIVEN), X, "must be of numbers"),
    ],
    ids=["precomputed", "function", "other package", "strings", "categories"],
)
def test_kernels_and_labels_that_cannot_be_exported(estimator, inputs, message):
    model = estimator.fit(inputs, TWO)
    with pytest.raises(TypeError, match=message):
        to_onnx(model)


def test_other_objects_are_refused():
    with pytest.raises(NotFittedError):
        to_onnx(BayesPointClassifier())
    with pytest.raises(TypeError, match="classifier must be a BayesPointClassifier"):
        to_onnx("model")
    with pytest.raises(
        TypeError, match=r"(?s)got Pipeline.*to_onnx\(pipeline\[-1\]\) exports the last"
    ):
        to_onnx(make_pipeline(StandardScaler(), BayesPointClassifier()))
    search = GridSearchCV(MaxMarginClassifier(), {"softness": [0.1]}, cv=2).fit(X, TWO)
    with pytest.raises(TypeError, match=r"(?s)got GridSearchCV.*export its best_estimator_"):
        to_onnx(search)
    with pytest.raises(TypeError, match="probabilities must be"):
        to_onnx(BayesPointClassifier(), probabilities="yes")


def test_without_onnx_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"`pip install onnx`"):
        to_onnx(BayesPointClassifier())
