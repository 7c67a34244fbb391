"""Models and results in files: `save` and `load`, skops, joblib, pickle."""

import contextlib
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
import zipfile
from dataclasses import fields, is_dataclass

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayespoint
from bayespoint import BayesPointClassifier, VersionSpace, kernels
from bayespoint.base import io
from bayespoint.export import TRUSTED_TYPES
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import onion
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import seed

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(30, 3))
NEW = RNG.normal(size=(7, 3))
TWO = np.where(X[:, 0] + 0.3 * RNG.normal(size=30) > 0, "yes", "nö").astype(object)
THREE = np.array([1.0, -2.0, 7.0])[np.arange(30) % 3]
QUICK = {"softness": 0.2, "tol": 0.3, "random_state": seed(0), "n_draws": 20}
COMPOUND = kernels.RBF([1.0, 2.0, 3.0]) + 0.1 * kernels.normalize(
    kernels.Polynomial(2, 1.0) * (kernels.Laplacian(1.0) + 1.0)
)
ESTIMATORS = [
    BayesPointClassifier(random_state=seed(0), tol=0.3, n_draws=20),
    BayesPointClassifier(COMPOUND, **QUICK),
    BayesPointClassifier("linear", **(QUICK | {"softness": 0.0, "label_noise": 0.1})),
    BayesPointClassifier(2.0 * gp.Matern(1.5, nu=2.5) + gp.RBF([1.0, 1.0, 2.0]), **QUICK),
    MaxMarginClassifier(softness=0.1),
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
    return tmp_path / "model.file"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_estimators_come_back_bit_by_bit(estimator, y, path):
    if y is TWO and not isinstance(estimator, BayesPointClassifier):
        y = y.astype(str)
    model = clone(estimator).fit(X, y)
    model.save(path)
    again = bayespoint.load(path)
    # But for the state of a run.
    assert same(again, pickle.loads(pickle.dumps(model)))
    assert same(answers(again, NEW), answers(model, NEW))
    joblib.dump(model, path)
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(path)):
        assert same(answers(other, NEW), answers(model, NEW))


def test_results_come_back(path):
    space = VersionSpace(X @ X.T, np.sign(X[:, 0]))
    with warnings.catch_warnings():
        # For some X no weight vector violates just one example, of this class.
        warnings.filterwarnings("ignore", "1 of 4 layers were not visited", ConvergenceWarning)
        table = onion(space, max_errors=(1, 1), tol=0.2, random_state=seed(0))
    results = [
        space.sample(length=50.0, random_state=seed(0)),
        table,
        space.evidence(tol=0.5, random_state=seed(0)),
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


def test_a_weighted_posterior_comes_back(path):
    model = BayesPointClassifier(**QUICK, n_models=1).fit(X, TWO)
    with pytest.warns(ConvergenceWarning, match="worth"):
        weighted = model.reweight(lambda margins: margins[:, 0] ** 40)
    weighted.save(path)
    again = bayespoint.load(path)
    assert same(answers(again, NEW), answers(weighted, NEW))
    assert same(answers(pickle.loads(pickle.dumps(weighted)), NEW), answers(weighted, NEW))
    with pytest.raises(ValueError, match="features"):
        again.predict(NEW[:, :2])


def test_inputs_other_than_vectors(path):
    texts = ["abba", "cab\0", "bb", "ba", "ccc", "acab"] * 2
    sets = [{1, 2}, frozenset({2, "x"}), {3}, ("x", 2.5), [b"y", 1], {None}] * 2
    y = [0, 1, 0, 1, 1, 0] * 2
    for kernel, inputs in [(kernels.Spectrum(2), texts), (kernels.SetIntersection(2.0), sets)]:
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
def test_random_generators_keep_their_state(random, path):
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


def in_new_process(tmp_path, imports, load, file):
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
    predicted, values = in_new_process(
        tmp_path, "import bayespoint", "bayespoint.load(sys.argv[1])", path
    )
    assert (predicted == model.predict(NEW)).all()
    assert same(values, model.predict_proba(NEW))


def test_a_model_of_the_papers_needs_its_module_in_a_new_process(path):
    model = KernelPerceptron().fit(X, TWO)
    model.save(path)
    program = "import bayespoint, sys\n{}print(bayespoint.load(sys.argv[1]).support_.tolist())"
    for extra in ("", "import bayespoint.papers.perceptron\n"):
        command = [sys.executable, "-c", program.format(extra), str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if extra:
            assert run.stdout.strip() == str(model.support_.tolist())
        else:
            assert "bayespoint.papers.perceptron.KernelPerceptron" in run.stderr


def test_a_pipeline_through_skops_in_a_new_process(tmp_path):
    model = make_pipeline(StandardScaler(), BayesPointClassifier(random_state=seed(0), tol=0.3))
    model.fit(X, TWO.astype(str))
    file = tmp_path / "pipeline.skops"
    skops.io.dump(model, file)
    assert set(skops.io.get_untrusted_types(file=file)) <= set(TRUSTED_TYPES)
    imports = "import skops.io\nfrom bayespoint.export import TRUSTED_TYPES"
    load = "skops.io.load(sys.argv[1], trusted=TRUSTED_TYPES)"
    predicted, values = in_new_process(tmp_path, imports, load, file)
    assert (predicted == model.predict(NEW)).all()
    assert same(values, model.predict_proba(NEW))


def test_objects_that_cannot_be_saved(path):
    class Mine(BayesPointClassifier):
        pass

    for kernel in (len, kernels.Linear() + len):
        with pytest.raises(TypeError, match=r"BayesPointClassifier cannot be saved: .*len"):
            BayesPointClassifier(kernel, **QUICK).save(path)
    for kernel in (lambda A, B: A @ B.T, np.zeros(2, dtype=[("a", object)])):
        with pytest.raises(TypeError, match="BayesPointClassifier cannot be saved"):
            BayesPointClassifier(kernel).save(path)
    with pytest.raises(TypeError, match=r"Mine cannot be saved: .*test_io"):
        Mine().save(path)
    assert not path.exists()


SAVED = {
    "a result": VersionSpace(np.eye(2), [1, -1]).max_margin(),
    "a model": KernelPerceptron().fit(X, X[:, 0] > 0),
}
both = pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)


def refused(path, match):
    with pytest.raises(ValueError, match=match) as caught:
        bayespoint.load(path)
    assert repr(str(path)) in str(caught.value)


@both
def test_bytes_that_are_cut_or_changed(saved, path):
    """They raise an error, or the change was outside the content, as in dates."""
    saved.save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(seed(0))
    unseen = 0
    with zipfile.ZipFile(path) as archive:
        last = len(data) - len(archive.comment)  # a comment cut short loses no content
    for k in rng.integers(last, size=200):
        path.write_bytes(data[:k])
        refused(path, "is not a bayespoint")
        path.write_bytes(data[:k] + bytes([data[k] ^ 1 << k % 8]) + data[k + 1 :])
        with contextlib.suppress(ValueError):
            again = bayespoint.load(path)
            unseen += 1
            assert same(again, saved)
    assert unseen < 100


@both
def test_other_versions_are_refused(saved, path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(io, "_VERSION", 4)
        patch.setattr(io, "_release", lambda: "9.8.7")
        saved.save(path)
    wanted = r"by bayespoint 9\.8\.7 in version {} of the format; this bayespoint reads version 3$"
    refused(path, wanted.format(4))
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"bayespoint model 2 9.8.7"
    refused(path, wanted.format(2))
    with open(path, "wb") as file:
        np.savez(file, header=np.array("{}"), a0=X)
    refused(path, "in version 2 of the format, or before; this bayespoint reads version 3$")


class Harm:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def test_files_of_others(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for content in (b"", pickle.dumps(Harm())):
        path.write_bytes(content)
        refused(path, "is not a bayespoint model or result")
    skops.io.dump(KernelPerceptron(), path)
    refused(path, "it was written by another program")
    np.savez(path.with_suffix(".npz"), header=np.array([Harm()], dtype=object))
    refused(path.with_suffix(".npz"), "version 2 of the format")
    io.write(path, "bayespoint checkpoint", 3, {}, {})
    refused(path, "it is a bayespoint checkpoint")
    for content, match in [
        (StandardScaler(with_mean=len), "Untrusted types .*len"),
        (StandardScaler(), "it holds a StandardScaler"),
        (({}, {}), "it holds a tuple"),
    ]:
        io._write(path, io._FORMAT, io._VERSION, skops.io.dumps(content))
        refused(path, match)
    assert not (tmp_path / "harmed").exists()
    with pytest.raises(FileNotFoundError):
        bayespoint.load(tmp_path / "none")
    with pytest.raises(OSError, match=r"directory|Permission"):
        bayespoint.load(tmp_path)


def test_arrays_and_plain_values_come_back(path):
    arrays = {"a": np.asfortranarray(X), "b": np.array(["é", "\0x"]), "c": np.empty((0, 3), "i1")}
    meta = {"x": (1, 2.5, [None, "é"]), "nan": float("nan"), "y": {"big": 2**70, "on": True}}
    io.write(path, "bayespoint test", 7, arrays, meta)
    found = io.read(path, "bayespoint test", 7)
    assert same(found, (arrays, meta))
    for content in (3, ({}, 3), ({"a": 3}, {}), (BayesPointClassifier(), {})):
        io._write(path, "bayespoint test", 7, skops.io.dumps(content))
        with pytest.raises(ValueError, match="is not a bayespoint test that bayespoint"):
            io.read(path, "bayespoint test", 7)


@both
def test_a_write_that_fails_leaves_the_old_file(saved, path, monkeypatch):
    path.write_bytes(b"old")

    def fails(*_):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            with pytest.raises(OSError, match="could not write the file: No space left") as caught:
                saved.save(path)
        assert caught.value.filename == str(path)
        assert path.read_bytes() == b"old"
        assert os.listdir(path.parent) == [path.name]
    for error in (FileNotFoundError, IsADirectoryError if os.name != "nt" else PermissionError):
        with pytest.raises(error):
            saved.save(path.parent / "nowhere" / "x" if error is FileNotFoundError else path.parent)


def test_only_leftovers_of_killed_writers_are_removed(path):
    keep = {path.name, ".model.file.tmp", ".other.0123456789abcdef.tmp", "model.file.tmp"}
    for name in [*keep, ".model.file.0123456789abcdef.tmp"]:
        (path.parent / name).write_text("")
    io.remove_leftovers(path)
    assert set(os.listdir(path.parent)) == keep


@pytest.mark.skipif(os.name == "nt", reason="links take a privilege")
def test_links_stay_and_modes_are_those_of_new_files(tmp_path, path):
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(path)
    other.write_text("")
    SAVED["a result"].save(link)
    assert link.is_symlink()
    assert path.stat().st_mode == other.stat().st_mode
    assert same(bayespoint.load(path), SAVED["a result"])


@pytest.mark.parametrize("path", [3, None, ["x.npz"], object()])
def test_invalid_paths(path):
    model = KernelPerceptron().fit([[0.0], [1.0]], [0, 1])
    for call in (bayespoint.load, model.save):
        with pytest.raises(TypeError, match=r"^path must be a str or path-like; got "):
            call(path)
