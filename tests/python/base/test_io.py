"""Models and results in files: `save` and `load`, skops, joblib, pickle."""

import errno
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
import zipfile
from dataclasses import fields, is_dataclass, replace
from functools import partial
from io import BufferedReader, BytesIO, FileIO

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bayespoint
from bayespoint import BayesPointClassifier, VersionSpace, kernels
from bayespoint.base import io
from bayespoint.export import TRUSTED_TYPES
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import onion
from bayespoint.papers.perceptron import KernelPerceptron
from failing_disk import STEPS, failing_disk
from helpers import seed
from hostile_files import packed, sealed, unpacked

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


def test_a_posterior_comes_back(path):
    posterior = BayesPointClassifier(**QUICK, n_models=1).fit(X, TWO).posterior_
    posterior.save(path)
    again = bayespoint.load(path)
    assert same(answers(again, NEW), answers(posterior, NEW))
    assert same(answers(pickle.loads(pickle.dumps(posterior)), NEW), answers(posterior, NEW))
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
    saved.save(path)
    data = path.read_bytes()
    for k in np.random.default_rng(seed(0)).integers(len(data), size=200):
        for changed in (data[:k], data[:k] + bytes([data[k] ^ 1 << k % 8]) + data[k + 1 :]):
            path.write_bytes(changed)
            refused(path, "is not a bayespoint")


@both
def test_the_same_object_has_the_same_bytes(saved, path):
    saved.save(path)
    data = path.read_bytes()
    bayespoint.load(path).save(path)
    assert path.read_bytes() == data


@both
def test_other_versions_are_refused(saved, path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(io, "_VERSION", 6)
        patch.setattr(io, "_release", lambda: "9.8.7")
        saved.save(path)
    wanted = r"by bayespoint 9\.8\.7 in version {} of the format; this bayespoint reads version 5$"
    refused(path, wanted.format(6))
    for comment in (b"bayespoint model 2 9.8.7", b"bayespoint model or result 3 9.8.7"):
        with zipfile.ZipFile(path, "a") as archive:
            archive.comment = comment
        refused(path, wanted.format(comment.split()[-2].decode()))
    with open(path, "wb") as file:
        np.savez(file, header=np.array("{}"), a0=X)
    refused(path, "in version 2 of the format, or before; this bayespoint reads version 5$")


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
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = b"bayespoint checkpoint 3 0.2.0"
    refused(path, "it is a bayespoint checkpoint")
    assert not (tmp_path / "harmed").exists()
    with pytest.raises(FileNotFoundError):
        bayespoint.load(tmp_path / "none")
    with pytest.raises(OSError, match=r"directory|Permission"):
        bayespoint.load(tmp_path)


def forge(path, content):
    """Write what `save` would refuse to write."""
    with pytest.MonkeyPatch.context() as patch, open(path, "w+b") as file:
        patch.setattr(io, "_check_content", lambda archive: None)
        io._pack(skops.io.dumps(content), file)


def test_objects_of_others(path):
    model = BayesPointClassifier(**QUICK, n_models=1).fit(X, TWO)
    machine = SVC().fit(X, TWO.astype(str))
    one = model.posterior_.models[0]
    inside = replace(one, hyper=replace(one.hyper, transform=make_pipeline(machine)))
    vars(model)["posterior_"] = replace(model.posterior_, models=(inside,))
    for content, match in [
        (machine, "it holds sklearn.svm._classes.SVC"),
        (model, "it holds sklearn.pipeline.Pipeline"),
        (StandardScaler(with_mean=len), "it holds builtins.len"),
        (StandardScaler(with_mean=np.add), r"it holds numpy.*add"),
        (KernelPerceptron(partial(dict, a=1)), "it holds functools.partial"),
        (KernelPerceptron(TWO.tolist().append), "append"),
        (StandardScaler(), "it holds a StandardScaler"),
        ([KernelPerceptron()], "it holds a list"),
        (({}, {}), "it holds a tuple"),
    ]:
        forge(path, content)
        refused(path, match)


OF_PAPERS = {"BayesPoint", "Flight", "ParameterSpace", "Trajectory", "WeightedResult"}
AVERAGED = ("AveragedPerceptron", "VotedPerceptron")


def test_classes_of_files():
    """Whoever adds one has looked at what a forged file could do with it."""
    known = {name.rpartition(".")[2] for name in io.trusted_types()}
    own = {name for name in known if not hasattr(kernels, name)}
    assert own == {
        *("BayesPointClassifier", "MaxMarginClassifier", "KernelPerceptron"),
        *("KernelClassifier", "LinearClassifier"),
        *(
            "Mixture",
            "Model",
            "Hyperparameters",
            "Basis",
            "Factor",
            "Draws",
            "Lengths",
            "LeftOut",
            "Savable",
        ),
        *("Labels", "Law", "OneWall", "Interval", "LargestOf"),
        *("BayesPointOrdinalClassifier", "BayesPointRanker"),
        *("Columns", "Column", "Warped", "RankNormal", "OneUnit"),
        *("Result", "Run", "BilliardResult", "LandmarkResult", "Evidence"),
        *("MaxMargin", "Search", "FeatureRelevance", "OnionTable", "LightTrap", "Stored"),
        *("CorrelationLength", "CompoundKernel", "CompositeKernel", "Stationary"),
    } | (own & {*OF_PAPERS, *AVERAGED})


def test_parts_that_do_not_fit(path):
    model = BayesPointClassifier(**QUICK, n_models=1).fit(X, TWO)
    one = model.posterior_.models[0]
    run = one.draws.run
    points = one.basis.points
    for part, match in [
        (
            {"draws": replace(one.draws, run=replace(run, draws=run.draws[0]))},
            "draws of BilliardResult has",
        ),
        ({"draws": replace(one.draws, run=replace(run, center=run.center[:-1]))}, "has the shape"),
        (
            {"draws": replace(one.draws, run=replace(run, length="x"))},
            "length of BilliardResult is",
        ),
        (
            {"draws": replace(one.draws, run=replace(run, hits=run.hits.astype(float)))},
            "hits of Bil",
        ),
        ({"basis": replace(one.basis, points=points[:-1])}, "is not a bayespoint"),
        ({"basis": replace(one.basis, points=points[:, :2])}, "features"),
        ({"basis": replace(one.basis, softness=one.basis.softness[1:])}, "a model of 29 points"),
        ({"classes": np.array(["a", "b", "c"])}, "a model of 30 points"),
        ({"calibration": 10**400}, "int too large"),
        ({"hyper": replace(one.hyper, kernel=3)}, "kernel of Hyperparameters is a int"),
    ]:
        wrong = clone(model)
        vars(wrong).update(vars(model))
        vars(wrong)["posterior_"] = replace(model.posterior_, models=(replace(one, **part),))
        forge(path, wrong)
        refused(path, match)
        with pytest.raises(TypeError, match="BayesPointClassifier cannot be saved"):
            wrong.save(path)
    vars(model)["predict"] = "x"
    forge(path, model)
    refused(path, "predict of BayesPointClassifier is a str")
    kernel = kernels.RBF(1.0)
    vars(kernel)["sigma"] = -1.0
    forge(path, KernelPerceptron(kernel))
    refused(path, "sigma must")


def test_a_random_generator_with_a_place_beyond_its_numbers(path):
    random = np.random.RandomState(3)
    state = random.get_state(legacy=False)
    state["state"]["pos"] = 10**9  # where its next number would be read
    random.set_state(state)
    forge(path, BayesPointClassifier(random_state=random))
    refused(path, "the pos of a random generator is out of range")


def test_truth_values_as_keys(path):
    BayesPointClassifier(class_weight={False: 1.0, True: 5.0}).save(path)
    assert bayespoint.load(path).class_weight == {False: 1.0, True: 5.0}


def test_archives_that_are_larger_than_they_look(path):
    SAVED["a result"].save(path)
    members, comment = unpacked(path.read_bytes())
    zeros = members | {"1.npy": members["1.npy"] + bytes(2**20)}
    declared = BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (4 * 10**12,)}
    np.lib.format.write_array_header_1_0(declared, header)
    for content, match in [
        (packed(zeros, comment, zipfile.ZIP_DEFLATED), "1.npy is compressed"),
        (packed(members | {"more.npy": members["1.npy"]}, comment), "other members"),
        (packed(members, comment, twice=[("1.npy", members["1.npy"])]), "do not add up"),
        (packed(members | {"1.npy": declared.getvalue()}, comment), r"no array of shape \(4000000"),
        (packed(zeros, comment), "no array of shape"),
    ]:
        path.write_bytes(content)
        refused(path, match)
    data = packed(members, comment)
    path.write_bytes(sealed(overlapping(data)))
    refused(path, "overlaps another")


def overlapping(data):
    """Return an archive of which the second member is at the place of the first."""
    central = data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02"))
    offset = data.rindex(b"PK\x01\x02", 0, central) + 42
    second = central + 42
    return data[:second] + data[offset : offset + 4] + data[second + 4 :]


def test_files_are_no_larger_than_pickles(path):
    rng = np.random.default_rng(seed(1))
    inputs = rng.normal(size=(200, 4))
    model = BayesPointClassifier(random_state=seed(0)).fit(inputs, inputs[:, 0] > 0)
    model.save(path)
    assert path.stat().st_size <= len(pickle.dumps(model))


@both
@pytest.mark.parametrize("old", [b"old", None], ids=["replaced", "new"])
@pytest.mark.parametrize("lasting", [False, True])
def test_whichever_write_fails_the_old_file_stays(saved, path, old, lasting):
    """Each operation of a whole `save` fails in turn."""

    def prepare():
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)

    prepare()
    with failing_disk(0) as steps:
        saved.save(path)
    assert set(steps) == STEPS - ({"chmod"} if old is None else set())
    assert same(bayespoint.load(path), saved)
    for n in range(1, len(steps) + 1):
        prepare()
        refused = pytest.raises(OSError, match="could not write the file: No space left")
        with failing_disk(n, lasting=lasting) as done, refused as caught:
            saved.save(path)
        assert done[:n] == steps[:n]
        assert caught.value.filename == str(path)
        assert os.listdir(path.parent) == ([] if old is None else [path.name])
        assert old is None or path.read_bytes() == old


def test_a_file_that_cannot_be_made(path):
    with pytest.raises(FileNotFoundError):
        SAVED["a result"].save(path.parent / "nowhere" / "x")
    with pytest.raises(IsADirectoryError):
        SAVED["a result"].save(path.parent)


@both
def test_whichever_read_fails_it_is_an_os_error(saved, path, monkeypatch):
    """A disk that fails is told from a file that is damaged."""
    saved.save(path)

    def load(n):
        """Load while the n-th read fails; return how many there were."""
        count = 0

        class Counted(FileIO):
            def readinto(self, buffer):
                nonlocal count
                count += 1
                if count == n:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return super().readinto(buffer)

        with monkeypatch.context() as patch:
            patch.setattr(
                io, "open", lambda p, mode: BufferedReader(Counted(p, mode), 512), raising=False
            )
            assert same(bayespoint.load(path), saved)
        return count

    total = load(0)
    assert total > 10
    for n in range(1, total + 1):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
            load(n)
        assert caught.value.filename == str(path)


def test_only_leftovers_of_killed_writers_are_removed(path):
    held = path.parent / ".model.file.00000000000000ff.tmp"
    keep = {path.name, ".model.file.tmp", ".other.0123456789abcdef.tmp", "model.file.tmp"}
    for name in [*keep, ".model.file.0123456789abcdef.tmp"]:
        (path.parent / name).write_text("")
    with open(held, "w+b") as file:
        io._hold(file)
        SAVED["a result"].save(path)
        assert set(os.listdir(path.parent)) == keep | {held.name}
    SAVED["a result"].save(path)
    assert set(os.listdir(path.parent)) == keep


@pytest.mark.skipif(os.name == "nt", reason="links take a privilege")
def test_links_stay_and_so_do_permissions(tmp_path, path):
    link = tmp_path / "link"
    link.symlink_to(path)
    SAVED["a result"].save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o644, 0o400, 0o660):
        path.chmod(mode)
        SAVED["a result"].save(link)
        assert path.stat().st_mode & 0o777 == mode
    assert same(bayespoint.load(path), SAVED["a result"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_what_is_no_regular_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/null", "/dev/zero"):
        with pytest.raises(OSError, match="could not write the file: it is no regular file"):
            SAVED["a result"].save(path)
        with pytest.raises(ValueError, match=r"^path must be a regular file; got "):
            bayespoint.load(path)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("path", [3, None, ["x.npz"], object()])
def test_invalid_paths(path):
    model = KernelPerceptron().fit([[0.0], [1.0]], [0, 1])
    for call in (bayespoint.load, model.save):
        with pytest.raises(TypeError, match=r"^path must be a str or path-like; got "):
            call(path)
