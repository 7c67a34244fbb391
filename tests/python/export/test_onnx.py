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
from sklearn.preprocessing import PowerTransformer, StandardScaler

from bayespoint import BayesPointClassifier, kernels
from bayespoint.data.warps import RankNormal, Warped
from bayespoint.export import register_with_skl2onnx
from bayespoint.export.onnx import to_onnx
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.tuning import scale
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


def by_reference(graph, inputs):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(graph).run(None, {"X": inputs})


def by_onnxruntime(graph, inputs):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": inputs})


def outputs(graph, inputs):
    """Yield the outputs of a graph by their names, of each runtime."""
    names = [output.name for output in graph.graph.output]
    for run in (by_reference, by_onnxruntime):
        yield dict(zip(names, run(graph, inputs), strict=True))


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


def compare(model, inputs=NEW, tol=1e-8):
    for found in outputs(to_onnx(model), inputs):
        compare_one(model, found, inputs, tol)


def compare_one(model, found, inputs, tol):
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


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels(kernel):
    # This kernel depends to first order on distances, which are roots of rounded squares.
    tol = 1e-6 if getattr(kernel, "nu", None) == 0.5 else 1e-8
    compare(BayesPointClassifier(kernel, **GIVEN).fit(X, TWO), tol=tol)


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
def test_classifiers(estimator, y):
    compare(clone(estimator).fit(X, y))


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    ("kind", "unknown"), [(int, np.iinfo(np.int64).min), (float, np.nan), (str, ""), (bool, False)]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the reference
def test_inputs_without_a_prediction_have_no_label(kind, unknown, y):
    labels = np.unique(y, return_inverse=True)[1].ravel()
    labels = (labels > 0 if kind is bool else labels + 1).astype(kind)
    model = BayesPointClassifier("linear", **GIVEN).fit(X, labels)
    inputs = X[:3].copy()
    inputs[1, 0] = np.nan
    inputs[2, 1] = np.inf
    for found in outputs(to_onnx(model), inputs):
        assert found["label"][0] == model.predict(inputs[:1])[0]
        for label in found["label"][1:]:
            assert label == unknown or (kind is float and np.isnan(label))
        assert np.isnan(found["decision"][1:]).any(axis=-1).all()


def power(lambdas=None):
    """Return a function that makes a warp of Yeo and Johnson, also of given exponents."""

    def of(inputs):
        found = PowerTransformer().fit(inputs)
        found.lambdas_ = found.lambdas_ if lambdas is None else np.array(lambdas)
        return found

    return of


@pytest.mark.parametrize(
    ("warp", "places"),
    [
        (RankNormal.of, [0, 2]),
        (RankNormal.of, [0]),
        (power(), [0, 2]),
        (power(), [0]),
        (power([1e-9, 2.0 - 1e-9]), [2, 0]),
        (power([-3.0, 5.0, 1.0]), [0, 1, 2]),
    ],
    ids=["ranks", "ranks of one", "powers", "power of one", "nearly", "large"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_numbers_on_another_scale(monkeypatch, warp, places, n_classes):
    """Also beyond the examples, and where some features are only standardized."""
    rng = np.random.default_rng(seed(1))

    def choose(scaler, columns, *, plan, examples, labels, budget):
        some = examples.inputs[:, places]
        ends = np.stack([some.min(axis=0), some.max(axis=0)])
        return Warped(scaler, warp(some), np.array(places), ends)

    monkeypatch.setattr(scale, "choose", choose)
    Z = rng.standard_normal((100, 3))
    y = np.digitize(Z.sum(axis=1), [-0.5, 0.5][: n_classes - 1])
    skew = np.exp(Z) * [1.0, 1.0, -1.0]
    model = BayesPointClassifier(random_state=seed(0), tol=0.3, n_draws=20, n_models=1)
    model.fit(skew, y)
    assert model.scaler_.places.tolist() == places
    compare(model, np.concatenate([skew[:40], skew[:3] * 10, -skew[:3]]), tol=1e-7)


def test_two_noise_rates():
    model = BayesPointClassifier("rbf", label_noise=(0.05, 0.2), **GIVEN).fit(X, TWO)
    compare(model)


@pytest.mark.long
@pytest.mark.parametrize(
    "classes", [["no", "jä"], [-3, 2**40], [0.5, 1.0], np.array(["a", "b"], dtype=object)], ids=str
)
def test_labels_of_all_kinds(classes):
    y = np.asarray(classes)[TWO.astype(int)]
    if y.dtype.kind == "f":
        y = 2 * y  # scikit-learn takes fractions for a regression
    compare(BayesPointClassifier("rbf", **GIVEN).fit(X, y))


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


@pytest.mark.parametrize(
    "column",
    [
        np.where(TWO, "a", "b"),
        np.where(TWO, np.nan, 1.0),
        np.datetime64("2020-01-01") + np.arange(40),
        np.where(TWO, 1.0, 2.0),
    ],
)
def test_tables_that_are_not_numbers_are_refused(column):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": column})
    model = BayesPointClassifier(n_models=1, **GIVEN).fit(frame, TWO)
    if model.columns_.plain:
        assert to_onnx(model).graph.input[0].type.tensor_type.shape.dim[1].dim_value == 2
        return
    with pytest.raises(TypeError, match="X of fit must hold numbers, and no missing values"):
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


@pytest.fixture
def skl2onnx():
    found = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    register_with_skl2onnx()
    register_with_skl2onnx()  # a second time changes nothing
    return found


@pytest.mark.parametrize(("dtype", "target"), [(np.float64, 17), (np.float32, None)])
@pytest.mark.parametrize("y", [np.where(TWO, "a", "b"), THREE], ids=["strings", "three"])
def test_skl2onnx_converts_a_pipeline(skl2onnx, y, dtype, target):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pipeline = make_pipeline(StandardScaler(), BayesPointClassifier(kernels.RBF(2.0), **GIVEN))
    pipeline.fit(X, y)
    graph = skl2onnx.to_onnx(
        pipeline, X[:1].astype(dtype), target_opset=target, options={"zipmap": False}
    )
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    near = NEW[:-1].astype(dtype)
    label, probabilities = session.run(None, {"X": near})
    expected = pipeline.predict_proba(near.astype(np.float64))
    assert probabilities.dtype == dtype
    tol = 2e-6 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(probabilities, expected, atol=tol)
    clear = np.sort(expected)[:, -2:] @ [-1, 1] > tol
    assert (label == pipeline.predict(near))[clear].all()


def test_skl2onnx_is_told_what_cannot_be_exported(skl2onnx, monkeypatch):
    model = BayesPointClassifier("linear", class_weight="balanced", **GIVEN).fit(X, TWO)
    with pytest.raises(ValueError, match="class_weight must be None for the export"):
        skl2onnx.to_onnx(model, X[:1])
    with pytest.raises(ValueError, match="target_opset must be at least 17; got 16"):
        skl2onnx.to_onnx(model, X[:1], target_opset=16)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="`pip install skl2onnx`"):
        register_with_skl2onnx()
