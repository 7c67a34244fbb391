"""Models and results in files: `save` and `load`, skops, joblib, pickle."""

import errno
import os
import pickle
import zipfile
from dataclasses import replace
from functools import partial
from io import BytesIO, FileIO

import joblib
import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bayespoint
from bayespoint import BayesPointClassifier, VersionSpace, kernels
from bayespoint.base import io
from bayespoint.export import TRUSTED_TYPES
from bayespoint.papers.perceptron import KernelPerceptron
from failing_disk import STEPS, failing_disk
from helpers import new_process, seed
from hostile import same
from hostile_files import answers, models, packed, results, unpacked

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(30, 3))
NEW = RNG.normal(size=(7, 3))
TWO = np.where(X[:, 0] + 0.3 * RNG.normal(size=30) > 0, "yes", "nö").astype(object)
THREE = np.array([1.0, -2.0, 7.0])[np.arange(30) % 3]
QUICK = {"softness": 0.2, "tol": 0.3, "random_state": seed(0), "n_draws": 20}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.file"


@pytest.mark.filterwarnings("ignore:k.x, x. of the points")
def test_models_predict_the_same_bits(path):
    for name, (model, new) in models().items():
        expected = answers(model, new)
        model.save(path)
        again = bayespoint.load(path)
        joblib.dump(model, path)
        if name == "sets":
            assert list(map(type, again.X_fit_)) == list(map(type, model.X_fit_))
        for other in (again, pickle.loads(pickle.dumps(model)), joblib.load(path)):
            assert same(answers(other, new), expected), name


def test_results_come_back(path):
    for name, result in results().items():
        result.save(path)
        assert same(bayespoint.load(path), result), name


NEW_PROCESS = """
    import sys
    import numpy as np
    import skops.io
    import bayespoint
    from bayespoint.export import TRUSTED_TYPES

    folder = sys.argv[1]
    new = np.load(f"{folder}/new.npy")
    np.save(f"{folder}/own.npy", bayespoint.load(f"{folder}/own").predict_proba(new))
    pipeline = skops.io.load(f"{folder}/pipeline", trusted=TRUSTED_TYPES)
    np.save(f"{folder}/by_skops.npy", pipeline.predict_proba(new))
    bayespoint.load(f"{folder}/of_papers")
"""


def test_a_new_process_predicts_the_same_bits(tmp_path):
    """Also with a pipeline in a file of skops; a model of the papers needs its module."""
    model = BayesPointClassifier(random_state=seed(0), tol=0.3)
    own, pipeline = clone(model).fit(X, TWO), make_pipeline(StandardScaler(), model)
    pipeline.fit(X, TWO.astype(str))
    own.save(tmp_path / "own")
    skops.io.dump(pipeline, tmp_path / "pipeline")
    assert set(skops.io.get_untrusted_types(file=tmp_path / "pipeline")) <= set(TRUSTED_TYPES)
    KernelPerceptron().fit(X, TWO).save(tmp_path / "of_papers")
    np.save(tmp_path / "new.npy", NEW)
    run = new_process(NEW_PROCESS, tmp_path)
    assert "bayespoint.papers.perceptron.KernelPerceptron" in run.stderr
    assert same(np.load(tmp_path / "own.npy"), own.predict_proba(NEW))
    assert same(np.load(tmp_path / "by_skops.npy"), pipeline.predict_proba(NEW))


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


def refused(path, match):
    with pytest.raises(ValueError, match=match) as caught:
        bayespoint.load(path)
    assert repr(str(path)) in str(caught.value)


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_bytes_that_are_cut_or_changed(saved, path):
    """They are refused, or of the archive's own, such as the time of a member."""
    saved.save(path)
    data, read = path.read_bytes(), 0
    for k in np.random.default_rng(seed(0)).integers(len(data), size=200):
        path.write_bytes(data[:k])
        refused(path, "is not a bayespoint")
        path.write_bytes(data[:k] + bytes([data[k] ^ 1 << k % 8]) + data[k + 1 :])
        try:
            assert same(pickle.dumps(bayespoint.load(path)), pickle.dumps(saved))
            read += 1
        except ValueError:
            refused(path, "is not a bayespoint")
    assert read < 100


def test_other_versions_are_refused(path):
    SAVED["a result"].save(path)
    digest = "0" * 32  # in files of 0.2
    for version, release in [("4", "0.2.0"), ("6", "9.8.7"), ("4", f"0.2.0 {digest}")]:
        with zipfile.ZipFile(path, "a") as archive:
            archive.comment = f"bayespoint model or result {version} {release}".encode()
        written = f"by bayespoint {release.split()[0]} in version {version} of the format"
        refused(path, f"{written}; this bayespoint reads version 5$")


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
    refused(path.with_suffix(".npz"), "it was written by another program")
    assert not (tmp_path / "harmed").exists()
    with pytest.raises(FileNotFoundError):
        bayespoint.load(tmp_path / "none")
    with pytest.raises(OSError, match=r"directory|Permission"):
        bayespoint.load(tmp_path)


def forge(path, content):
    """Write what `save` would refuse to write."""
    path.write_bytes(io._packed(content))


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


def test_nodes_that_stand_for_others(path):
    """A list of two references to another, and so on, would become very long."""
    SAVED["a model"].save(path)
    members, comment = unpacked(path.read_bytes())
    schema = members["schema.json"]
    for part, other in [
        (b'"DictNode",', b'"DictNode","__id__":1,'),
        (b'"1.npy"', b'"schema.json"'),
        (b'"__id__":1', b'"_id_":1'),
        # skops would read these again for each node.
        (b'"file":"1.npy","__id__":1', b'"file":"0.npy","__id__":0'),
        (b'"file":"1.npy","__id__":1', b'"file":"None.npy"'),
    ]:
        wrong = schema.replace(part, other)
        assert wrong != schema
        others = dict.fromkeys(("0.npy", "None.npy"), members["1.npy"])
        path.write_bytes(packed(members | others | {"schema.json": wrong}, comment))
        refused(path, "its .*Node stands for another")


OF_PAPERS = {"Flight"}
MACHINES = ("AveragedPerceptron", "BayesPointMachine", "VotedPerceptron")


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
            "Estimator",
        ),
        *("Labels", "Law", "OneWall", "Interval", "LargestOf"),
        *("BayesPointOrdinalClassifier", "BayesPointRanker"),
        *("Columns", "Column", "Warped", "RankNormal", "OneUnit"),
        *("Result", "Run", "BilliardResult", "LandmarkResult", "Evidence"),
        *("MaxMargin", "Search", "FeatureRelevance", "OnionTable", "Stored"),
        *("CompoundKernel", "CompositeKernel", "Stationary"),
    } | (own & {*OF_PAPERS, *MACHINES})


def test_parts_that_do_not_fit(path):
    model = BayesPointClassifier(**QUICK, n_models=1).fit(X, TWO)
    one = model.posterior_.models[0]
    run, points = one.draws.run, one.basis.points

    def other_run(**part):
        return {"draws": replace(one.draws, run=replace(run, **part))}

    for part, match in [
        (other_run(draws=run.draws[0]), "draws of BilliardResult has"),
        (other_run(center=run.center[:-1]), "has the shape"),
        (other_run(length="x"), "length of BilliardResult is"),
        (other_run(hits=run.hits.astype(float)), "hits of Bil"),
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
    many = BytesIO()
    np.save(many, np.zeros(2**17))
    for content, match in [
        (packed(zeros, comment, zipfile.ZIP_DEFLATED), "1.npy is compressed"),
        (repeated(packed({"1.npy": many.getvalue()}, comment), "1.npy"), "overlaps another"),
        (packed(members | {"1.npy": declared.getvalue()}, comment), r"no array of shape \(4000000"),
        (packed(zeros, comment), "no array of shape"),
    ]:
        path.write_bytes(content)
        refused(path, match)
    model = BayesPointClassifier("linear", **QUICK).fit(sparse.csr_array(X), TWO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "_stored", bytes)  # compressed, as skops stores them
        forge(path, model)
    refused(path, "npy is compressed")


def repeated(data, name):
    """Return an archive that names one of its members three times."""
    end = data.rindex(b"PK\x05\x06")
    start = data.index(b"PK\x01\x02")
    entry = data.index(name.encode(), start) - 46
    length = 46 + len(name)
    central = data[start:end] + 2 * data[entry : entry + length]
    tail = bytearray(data[end:])
    count = int.from_bytes(tail[8:10], "little") + 2
    tail[8:12] = 2 * count.to_bytes(2, "little")
    tail[12:16] = len(central).to_bytes(4, "little")
    return data[:start] + central + bytes(tail)


@pytest.mark.parametrize("old", [b"old", None], ids=["replaced", "new"])
@pytest.mark.parametrize("lasting", [False, True])
def test_whichever_write_fails_the_old_file_stays(path, old, lasting):
    """Each operation of a whole `save` fails in turn."""
    saved = SAVED["a model"]

    def prepare():
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)

    prepare()
    with failing_disk(0) as steps:
        saved.save(path)
    assert set(steps) == STEPS - ({"chmod"} if old is None else set())
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


def test_a_read_that_fails_is_an_os_error(path, monkeypatch):
    """A disk that fails is told from a file that is damaged."""

    class Failing(FileIO):
        def read(self):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    SAVED["a result"].save(path)
    monkeypatch.setattr(io, "open", Failing, raising=False)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        bayespoint.load(path)
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
    for call in (bayespoint.load, SAVED["a model"].save):
        with pytest.raises(TypeError, match=r"^path must be a str or path-like; got "):
            call(path)
