"""Fitted classifiers and results in files: our own, skops', joblib's."""

import inspect
import json
import pickle
import subprocess
import sys
import textwrap
import warnings
from dataclasses import fields, is_dataclass

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayespoint
from bayespoint import (
    BayesPointClassifier,
    HingeClassifier,
    KernelPerceptron,
    MaxMarginClassifier,
    Perceptron,
    VersionSpace,
    kernels,
)
from bayespoint.base import npz, persistence
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.light_trap import light_trap
from taught import seed

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(30, 3))
NEW = RNG.normal(size=(7, 3))
TWO = np.where(X[:, 0] + 0.3 * RNG.normal(size=30) > 0, "yes", "nö").astype(object)
THREE = np.array([1.0, -2.0, 7.0])[np.arange(30) % 3]
QUICK = {"softness": 0.2, "optimizer": None, "tol": 0.3, "random_state": seed(0), "n_draws": 20}
COMPOUND = kernels.RBF([1.0, 2.0, 3.0]) + 0.1 * kernels.normalize(
    kernels.Polynomial(2) * (kernels.Bounded(kernels.Laplacian(), {"sigma": "fixed"}) + 1.0)
)
ESTIMATORS = [
    BayesPointClassifier(random_state=seed(0), tol=0.3, n_draws=20),
    BayesPointClassifier(COMPOUND, **QUICK),
    BayesPointClassifier("linear", **(QUICK | {"softness": 0.0, "label_noise": 0.1})),
    BayesPointClassifier(2.0 * gp.Matern(1.5, nu=2.5) + gp.RBF([1.0, 1.0, 2.0]), **QUICK),
    MaxMarginClassifier(softness=0.1),
    HingeClassifier(),
    Perceptron(max_epochs=3),
    KernelPerceptron(kernels.Linear(), softness=1.0),
]


def name_of(estimator):
    return type(estimator).__name__


def same(one, other):
    """Return whether two values have the same bits and types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype == object:
            return all(map(same, one.ravel().tolist(), other.ravel().tolist()))
        return (
            one.tobytes() == other.tobytes() and one.flags.f_contiguous == other.flags.f_contiguous
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, BaseEstimator):
        return same(vars(one), vars(other))
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, gp.Kernel):
        return one == other and same(one.get_params(False), other.get_params(False))
    return one == other or one != one


def answers(model, new):
    methods = ("predict", "decision_function", "predict_proba")
    return [getattr(model, method)(new) for method in methods if hasattr(model, method)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_estimators_come_back_bit_by_bit(estimator, y, path):
    if y is TWO and not isinstance(estimator, BayesPointClassifier):
        y = y.astype(str)
    model = clone(estimator).fit(X, y)
    model.save(path)
    again = bayespoint.load(path)
    assert same(again, model)
    assert same(answers(again, NEW), answers(model, NEW))
    for other in (pickle.loads(pickle.dumps(model)), _through_joblib(model, path)):
        assert same(answers(other, NEW), answers(model, NEW))


def _through_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_fitted_state_is_arrays_and_plain_values(estimator):
    ours = {*map(persistence._class, persistence._CLASSES)}

    def look(value, where):
        if isinstance(value, np.ndarray):
            assert value.dtype != object or all(type(x) is str for x in value.ravel()), where
        elif isinstance(value, (list, tuple)):
            for one in value:
                look(one, where)
        elif type(value) in ours:
            for name, one in vars(value).items():
                look(one, f"{where}.{name}")
        elif isinstance(value, (kernels.Base, gp.Kernel)):
            pass
        else:
            assert value is None or type(value) in (bool, int, float, str, dict), where

    look(clone(estimator).fit(X, TWO.astype(str)), name_of(estimator))


def test_results_come_back(path):
    space = VersionSpace(X @ X.T, np.sign(X[:, 0]))
    with warnings.catch_warnings():
        # Not with every X is there a weight vector that violates one example, of this class.
        warnings.filterwarnings("ignore", "1 of 4 layers were not visited", ConvergenceWarning)
        onion = space.onion(max_errors=(1, 1), tol=0.2, random_state=seed(0))
    results = [
        space.sample(length=50.0, random_state=seed(0)),
        onion,
        space.log_volume(tol=0.5, random_state=seed(0)),
        space.max_margin(),
        light_trap(space, random_state=seed(0)),
        correlation_length(
            VersionSpace(X @ X.T, np.sign(X[:, 0]), softness=0.1), random_state=seed(0)
        ),
        space.evidence([0.1, 0.2], tol=0.5, random_state=seed(0)),
        BayesPointClassifier(random_state=seed(0), tol=0.3).fit(X, TWO).tuning_,
    ]
    for result in results:
        result.save(path)
        again = bayespoint.load(path)
        assert type(again) is type(result)
        assert same(again, result)
    assert again.summary() == results[-1].summary()


def test_a_weighted_classifier_comes_back(path):
    model = BayesPointClassifier(**QUICK).fit(X, TWO)
    with pytest.warns(bayespoint.ConvergenceWarning, match="worth"):
        weighted = model.reweight(lambda margins: margins[:, 0] ** 40)
    weighted.save(path)
    again = bayespoint.load(path)
    assert same(answers(again, NEW), answers(weighted, NEW))
    assert same(answers(pickle.loads(pickle.dumps(weighted)), NEW), answers(weighted, NEW))
    with pytest.raises(ValueError, match="features"):
        again.predict(NEW[:, :2])


def test_inputs_that_are_no_vectors(path):
    texts = ["abba", "cab\0", "bb", "ba", "ccc", "acab"] * 2
    sets = [{1, 2}, frozenset({2, "x"}), {3}, ("x", 2.5), [b"y", 1], {None}] * 2
    y = [0, 1, 0, 1, 1, 0] * 2
    for kernel, inputs in [(kernels.Spectrum(2), texts), (kernels.SetIntersection(), sets)]:
        model = BayesPointClassifier(kernel, **QUICK).fit(inputs, y)
        model.save(path)
        again = bayespoint.load(path)
        assert list(again.X_fit_) == list(inputs)
        assert [type(x) for x in again.X_fit_] == [type(x) for x in inputs]
        assert same(answers(again, inputs), answers(model, inputs))


def test_a_precomputed_matrix_and_sparse_values(path):
    from scipy import sparse

    gram = X @ X.T
    model = BayesPointClassifier("precomputed", **QUICK).fit(gram, TWO)
    model.class_weight = {"yes": np.float64(1.0)}
    model.verbose = sparse.csr_array(np.diag([1.0, 0.0, 2.0]))
    model.save(path)
    again = bayespoint.load(path)
    assert same(
        again.decision_function(gram, diag=gram.diagonal()),
        model.decision_function(gram, diag=gram.diagonal()),
    )
    assert (again.verbose != model.verbose).nnz == 0
    assert type(again.verbose) is sparse.csr_array
    assert again.class_weight == {"yes": 1.0}


@pytest.mark.parametrize(
    "random",
    [
        np.random.default_rng(seed(5)),
        np.random.RandomState(seed(5)),
        np.random.Generator(np.random.Philox(5)),
    ],
)
def test_random_generators_go_on(random, path):
    BayesPointClassifier(random_state=random).save(path)
    again = bayespoint.load(path).random_state
    assert type(again) is type(random)
    assert (again.normal(size=5) == random.normal(size=5)).all()


NEW_PROCESS = """
import sys
import numpy as np
{imports}
new = np.load(sys.argv[2])
model = {load}
np.savez(sys.argv[3], predicted=model.predict(new).astype(str), values=model.predict_proba(new))
"""


def elsewhere(tmp_path, imports, load, file):
    """Return what a new process predicts with a file."""
    np.save(tmp_path / "new.npy", NEW)
    program = textwrap.dedent(NEW_PROCESS.format(imports=imports, load=load))
    arguments = [file, tmp_path / "new.npy", tmp_path / "found.npz"]
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=True)
    with np.load(tmp_path / "found.npz") as found:
        return found["predicted"], found["values"]


def test_a_new_process_predicts_the_same_bits(path, tmp_path):
    model = BayesPointClassifier(random_state=seed(0), tol=0.3).fit(X, TWO)
    model.save(path)
    predicted, values = elsewhere(
        tmp_path, "import bayespoint", "bayespoint.load(sys.argv[1])", path
    )
    assert (predicted == model.predict(NEW)).all()
    assert same(values, model.predict_proba(NEW))


def test_a_pipeline_through_skops_in_a_new_process(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = make_pipeline(StandardScaler(), BayesPointClassifier(random_state=seed(0), tol=0.3))
    model.fit(X, TWO.astype(str))
    file = tmp_path / "pipeline.skops"
    skops.dump(model, file)
    assert set(skops.get_untrusted_types(file=file)) <= set(bayespoint.TRUSTED_TYPES)
    imports = "import skops.io\nfrom bayespoint import TRUSTED_TYPES"
    load = "skops.io.load(sys.argv[1], trusted=list(TRUSTED_TYPES))"
    predicted, values = elsewhere(tmp_path, imports, load, file)
    assert (predicted == model.predict(NEW)).all()
    assert same(values, model.predict_proba(NEW))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_skops_needs_to_trust_our_classes_alone(estimator):
    skops = pytest.importorskip("skops.io")
    model = clone(estimator).fit(X, THREE)
    data = skops.dumps(model)
    foreign = {
        name
        for name in skops.get_untrusted_types(data=data)
        if not name.startswith("sklearn.gaussian_process.kernels.")
    }
    assert type(model).__module__ + "." + type(model).__name__ in foreign
    assert foreign <= set(bayespoint.TRUSTED_TYPES)
    trusted = skops.get_untrusted_types(data=data)
    assert same(answers(skops.loads(data, trusted=trusted), NEW), answers(model, NEW))


def test_what_cannot_be_saved(path):
    def kernel(A, B):
        return A @ B.T

    class Mine(BayesPointClassifier):
        pass

    model = BayesPointClassifier(kernel, **QUICK).fit(X, TWO)
    with pytest.raises(
        TypeError, match=r"BayesPointClassifier\.kernel cannot be saved: .*kernel.*"
    ):
        model.save(path)
    compound = BayesPointClassifier(kernels.Linear() + kernel, **QUICK)
    with pytest.raises(TypeError, match=r"kernel\.parts\[1\] cannot be saved"):
        compound.save(path)
    with pytest.raises(TypeError, match=r"Mine cannot be saved.*is of .*test_persistence"):
        Mine().save(path)
    with pytest.raises(TypeError, match=r"kernel is an array of \[\('a', '<f8'\)\]"):
        BayesPointClassifier(np.zeros(2, dtype=[("a", float)])).save(path)
    assert not path.exists()


def rewritten(path, change, version=persistence.SCHEMA):
    """Change the header of a file, with a seal that is right."""
    _, arrays, meta = npz.read(path, persistence.FORMAT, np.inf)
    meta = json.loads(json.dumps(meta))
    change(meta)
    npz.write(path, persistence.FORMAT, version, arrays, meta)


def test_a_file_of_a_later_schema_is_refused(path):
    Perceptron().save(path)
    rewritten(path, lambda meta: meta.update(package="9.8.7"), version=2)
    with pytest.raises(ValueError, match=r"written by bayespoint 9\.8\.7 in version 2 .* newer"):
        bayespoint.load(path)


def test_a_file_says_which_version_wrote_it(path):
    Perceptron().save(path)
    _, _, meta = npz.read(path, persistence.FORMAT, np.inf)
    assert meta["package"] == bayespoint.__version__


CONTENT = {
    "a function": {"object": "os.system", "state": {}},
    "a private class": {"object": "kernels.Kernel", "state": {}},
    "a helper": {"object": "sklearn.gaussian_process.kernels.cdist", "state": {}},
    "an abstract kernel": {"object": "kernels.Base", "state": {}},
    "no kind": {},
    "a strange kind": {"pickle": "gASVAAAAAAAAAACULg=="},
    "a list": [1],
    "a missing array": {"array": "a99", "turned": False},
    "missing fields": {"object": "Evidence", "state": {"value": 1.0}},
    "missing settings": {"object": "Perceptron", "state": {}},
    "a bad parameter": {"object": "kernels.RBF", "state": {"sigma": -1.0}},
    "a bad generator": {"generator": {"dict": [["bit_generator", "system"]]}},
    "a large shape": {"objects": [1], "shape": [2**70]},
    "a helper of scikit-learn's": {
        "object": "sklearn.gaussian_process.kernels.Hyperparameter",
        "state": {"name": "a", "value_type": "numeric", "bounds": "fixed"},
    },
}


@pytest.mark.parametrize("content", CONTENT.values(), ids=CONTENT)
def test_trees_that_save_does_not_make_are_refused(content, path):
    Perceptron().save(path)
    rewritten(path, lambda meta: meta.update(content=content))
    with pytest.raises(ValueError, match=r"is no bayespoint model that bayespoint .* can read"):
        bayespoint.load(path)


def test_a_tree_too_deep_is_refused(path):
    Perceptron().save(path)
    tree = 1
    for _ in range(400):
        tree = {"list": [tree]}
    rewritten(path, lambda meta: meta.update(content=tree))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 500)
    try:
        with pytest.raises(ValueError, match=r"recursion|too deep"):
            bayespoint.load(path)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("name", ["predict", "__class__", "a b", "log_evidence_"])
def test_attributes_in_the_place_of_code_are_refused(name, path):
    BayesPointClassifier().save(path)
    rewritten(path, lambda meta: meta["content"]["state"].update({name: 1}))
    with pytest.raises(ValueError, match="has no attribute"):
        bayespoint.load(path)


def test_a_damaged_file_is_refused(path):
    Perceptron().fit(X, X[:, 0] > 0).save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        bayespoint.load(path)
    with pytest.raises(FileNotFoundError):
        bayespoint.load(path.with_name("none.npz"))
    np.savez(path, a=X)
    with pytest.raises(ValueError, match="is no bayespoint model"):
        bayespoint.load(path)


def test_trusted_types_are_all_classes_of_kernels():
    own = [
        getattr(kernels, name)
        for name in kernels.__all__
        if isinstance(getattr(kernels, name), type)
        and issubclass(getattr(kernels, name), kernels.Base)
        and getattr(kernels, name) is not kernels.Base
    ]
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in own}
    assert names
    assert names <= set(bayespoint.TRUSTED_TYPES)


def _loads(path, change):
    """Return what load makes of a classifier whose header was changed."""
    version, arrays, meta = npz.read(path, persistence.FORMAT, np.inf)
    change(meta["content"]["state"], arrays)
    npz.write(path, persistence.FORMAT, version, arrays, meta)
    return bayespoint.load(path)


def test_indices_beyond_the_columns_are_refused(path):
    from scipy import sparse

    KernelPerceptron("linear").fit(sparse.csr_array(X), np.sign(X[:, 0])).save(path)

    def change(state, arrays):
        parts = state["X_fit_"]["csr_array"]
        arrays[parts[1]["array"]][3] = 2**30

    with pytest.raises(ValueError, match="is no bayespoint model that"):
        _loads(path, change)


@pytest.mark.parametrize("position", [-1, 625, 2**31, 1.0, True, None])
def test_generators_beyond_their_buffer_are_refused(position, path):
    for random, name in [
        (np.random.RandomState(seed(1)), "pos"),
        (np.random.Generator(np.random.MT19937(1)), "pos"),
        (np.random.Generator(np.random.Philox(1)), "buffer_pos"),
    ]:
        KernelPerceptron(random_state=random).fit(X, np.sign(X[:, 0])).save(path)

        def change(state, arrays, name=name):
            (tree,) = (state["random_state"].get(key) for key in state["random_state"])
            pairs = dict(tree["dict"])
            owner = pairs["state"]["dict"] if name == "pos" else tree["dict"]
            for pair in owner:
                if pair[0] == name:
                    pair[1] = position

        with pytest.raises(ValueError, match="a generator at"):
            _loads(path, change)


def test_no_byte_of_a_file_can_be_changed_or_cut(path):
    """Through `load` itself; test_npz.py flips single bits."""
    VersionSpace(np.eye(2), [1, -1]).max_margin().save(path)
    data = path.read_bytes()
    for k in range(len(data)):
        path.write_bytes(data[:k] + bytes([data[k] ^ 0xFF]) + data[k + 1 :])
        with pytest.raises(ValueError, match=r"is damaged|was cut"):
            bayespoint.load(path)
        if k % 7 == 0:
            path.write_bytes(data[:k])
            with pytest.raises(ValueError, match="was cut"):
                bayespoint.load(path)


@pytest.mark.parametrize("path", [3, None, ["x.npz"], object()])
def test_what_is_no_path_is_refused_by_its_name(path):
    model = KernelPerceptron().fit([[0.0], [1.0]], [0, 1])
    for call in (bayespoint.load, model.save):
        with pytest.raises(TypeError, match=r"^path must be a str or path-like; got "):
            call(path)
