"""Runs continued from a checkpoint have the bits of an uninterrupted run."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from bayespoint import SampleOptions, VersionSpace
from bayespoint.base import io
from bayespoint.engine import continuation
from continuation_helpers import SEED, every_kind, same, space
from failing_disk import STEPS, failing_disk
from helpers import sample

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Enough(Exception):  # noqa: N818
    pass


def broken_off(one, path, *, after=2, **settings):
    """Begin a run and end it after some states have been written."""
    written = []
    write = continuation.write_checkpoint

    def write_and_stop(path, state, meta):
        write(path, state, meta)
        written.append(state)
        if len(written) == after:
            raise Enough

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(continuation, "write_checkpoint", write_and_stop)
        with pytest.raises(Enough):
            sample(one, checkpoint=path, **settings)


@every_kind
def test_broken_off_and_taken_up(tmp_path, settings):
    """Every kind of run, from intermediate states."""
    one, path = space(), tmp_path / "run.npz"
    settings = settings | {"max_bounces": 60_000}
    whole = sample(one, **settings)
    same(whole, sample(one, checkpoint=tmp_path / "other.npz", n_jobs=2, **settings))
    broken_off(one, path, **settings)
    broken_off(one, path, after=1, n_jobs=3, **settings)
    assert sorted(os.listdir(tmp_path)) == ["other.npz", "run.npz"]
    same(whole, sample(one, checkpoint=path, n_jobs=2, **settings))


def test_a_callback_that_raises_leaves_a_file_to_go_on_from(tmp_path):
    one, path = space(), tmp_path / "run.npz"
    settings = {"max_bounces": 10**12, "random_state": SEED, "checkpoint": path}
    threads = threading.active_count()
    for n_jobs in (1, 2, 3):
        before = path.read_bytes() if path.exists() else b""

        def callback(_, before=before):
            if path.exists() and path.read_bytes() != before:
                raise Enough

        with pytest.raises(Enough):
            sample(one, n_jobs=n_jobs, callback=callback, **settings)
    assert threading.active_count() == threads
    assert os.listdir(tmp_path) == ["run.npz"]
    assert (
        io.read(path, continuation.FORMAT, continuation.VERSION)[1]["settings"]["max_bounces"]
        == 10**12
    )


def test_the_finished_file_is_the_finished_run(tmp_path):
    one, path = space(), tmp_path / "run.npz"
    settings = {"tol": 0.03, "random_state": SEED, "checkpoint": path}
    whole = sample(one, **settings)
    before = io.read(path, continuation.FORMAT, continuation.VERSION)[0]
    flown = []
    same(whole, sample(one, **settings, n_jobs=2, callback=flown.append))
    after = io.read(path, continuation.FORMAT, continuation.VERSION)[0]
    assert all(np.array_equal(after[name], before[name]) for name in before)


def test_a_result_goes_on_with_a_file(tmp_path):
    one, path = space(), tmp_path / "run.npz"
    start = one.sample(length=20.0, random_state=SEED)
    whole = one.sample(length=60.0, options=SampleOptions(continue_from=start))
    same(
        whole,
        one.sample(length=60.0, options=SampleOptions(continue_from=start, checkpoint=str(path))),
    )
    with pytest.raises(ValueError, match="the continue_from differs"):
        one.sample(length=60.0, options=SampleOptions(continue_from=whole, checkpoint=path))


@pytest.mark.parametrize(
    "change",
    [
        {"length": 21.0},
        {"tol": 0.1},
        {"max_bounces": 10**9},
        {"n_trajectories": 2},
        {"n_draws": 99},
        {"transparency": 0.1},
        {"refresh": "pair"},
        {"average": "arc"},
        {"random_state": 1000},
        {"random_state": None},
        {"start": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_files_of_other_runs(tmp_path, change):
    one, path = space(), tmp_path / "run.npz"
    settings = {"length": 20.0, "random_state": SEED, "checkpoint": path}
    found = sample(one, **settings)
    before = path.read_bytes()
    (name,) = change
    if name == "start":
        change = {"start": found.center}
    with pytest.raises(ValueError, match=f"is of another run: the {name} differs"):
        sample(one, **settings | change)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: space(flip=3), "the labels differs"),
        (lambda: space(softness=0.2), "the softness differs"),
        (
            lambda: VersionSpace(space().gram, space().y, softness=0.1, offset=1.0),
            "the offset differs",
        ),
        (lambda: VersionSpace(nudged(), space().y, softness=0.1), "the Gram matrix differs"),
        (
            lambda: VersionSpace(space().gram.astype(np.float32), space().y, softness=0.1),
            "the diagonal of the Gram matrix differs",
        ),
    ],
)
def test_files_of_other_problems(tmp_path, other, text):
    path = tmp_path / "run.npz"
    settings = {"length": 20.0, "random_state": SEED, "checkpoint": path}
    sample(space(), **settings)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"is of another problem: {text}"):
        sample(other(), **settings)
    assert path.read_bytes() == before


def nudged():
    gram = space().gram.copy()
    gram[3, 5] = gram[5, 3] = np.nextafter(gram[3, 5], 1.0)
    return gram


def test_files_of_features(tmp_path):
    x = np.random.default_rng(SEED).standard_normal((50, 3))
    y = np.where(x[:, 0] > 0, 1, -1)

    def run(x):
        one = VersionSpace.from_features(x, y, softness=0.1)
        return one.sample(
            length=5.0, random_state=SEED, options=SampleOptions(checkpoint=tmp_path / "file")
        )

    same(run(x), run(x))
    with pytest.raises(ValueError, match="diagonal of the Gram matrix differs"):
        run(x + 0.0001)
    # Features of the same lengths.
    with pytest.raises(ValueError, match="the Gram matrix differs"):
        run(x * [1.0, -1.0, 1.0])


def test_files_that_are_damaged_or_none(tmp_path):
    one, path = space(), tmp_path / "run.npz"
    settings = {"length": 20.0, "random_state": SEED, "checkpoint": path}
    sample(one, **settings)
    data = path.read_bytes()

    def refused(content, text):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=text):
            sample(one, **settings)
        assert path.read_bytes() == content

    (tmp_path / "good").write_bytes(data)
    arrays, meta = io.read(tmp_path / "good", continuation.FORMAT, continuation.VERSION)
    inside = data.index(arrays["bytes"].tobytes())
    for k in np.random.default_rng(SEED).integers(len(data), size=20):
        at = inside + k % arrays["bytes"].nbytes
        refused(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :], "its bytes have been changed")
        refused(data[:k], "is not a bayespoint checkpoint")
    refused(b"", "is not a bayespoint checkpoint")
    refused(b"x" * 10**7, "is not a bayespoint checkpoint")
    io.write(path, "another format", 1, {}, {})
    refused(path.read_bytes(), "another format")
    io.write(path, continuation.FORMAT, 7, arrays, meta)
    refused(path.read_bytes(), "in version 7 of the format; this bayespoint reads version 5")
    io.write(path, continuation.FORMAT, continuation.VERSION, {"bytes": arrays["bytes"]}, meta)
    refused(path.read_bytes(), "'draws' of a state must be")
    io.write(path, continuation.FORMAT, continuation.VERSION, arrays, {})
    refused(path.read_bytes(), "another problem: the labels differs")
    broken = arrays | {"bytes": arrays["bytes"][:100]}
    io.write(path, continuation.FORMAT, continuation.VERSION, broken, meta)
    refused(path.read_bytes(), "cut short or altered")


def test_paths(tmp_path):
    one = space()
    with pytest.raises(FileNotFoundError):
        one.sample(length=1.0, options=SampleOptions(checkpoint=tmp_path / "nowhere" / "file"))
    with pytest.raises(IsADirectoryError):
        one.sample(length=1.0, options=SampleOptions(checkpoint=tmp_path))
    with pytest.raises(TypeError, match="checkpoint must be a path; got 3"):
        one.sample(length=1.0, options=SampleOptions(checkpoint=3))
    with pytest.raises(ValueError, match="checkpoint must be a path without null characters"):
        one.sample(length=1.0, options=SampleOptions(checkpoint="a\0b"))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="links take rights")
def test_a_link_to_where_nothing_can_be_made(tmp_path):
    """The folder of the file itself is tested, not that of the link to it."""
    link = tmp_path / "run.npz"
    link.symlink_to(tmp_path / "gone" / "run.npz")
    flown = []
    with pytest.raises(FileNotFoundError):
        space().sample(length=1.0, options=SampleOptions(checkpoint=link), callback=flown.append)
    assert flown == []


@pytest.mark.skipif(os.name == "nt", reason="links take rights")
def test_a_link_laid_for_the_first_file_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / f".run.npz.{'0' * 16}.tmp").symlink_to(victim)
    space().sample(length=1.0, options=SampleOptions(checkpoint=tmp_path / "run.npz"))
    assert victim.read_text() == "kept"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            space().sample(length=1.0, options=SampleOptions(checkpoint=tmp_path / "file"))
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.name == "nt", reason="limits are those of POSIX")
def test_a_full_disk_takes_the_file_but_not_the_result(tmp_path):
    import resource

    one, path = space(), tmp_path / "run.npz"
    settings = {"length": 20.0, "random_state": SEED}
    whole = sample(one, **settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.warns(RuntimeWarning, match="the checkpoint is not up to date.*File too large"):
            same(whole, sample(one, checkpoint=path, **settings))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []
    same(whole, sample(one, checkpoint=path, **settings))


@pytest.mark.skipif(os.name == "nt", reason="limits are those of POSIX")
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path):
    """The run continues from it, with the bits of one on a disk with space."""
    import resource

    one, path = space(), tmp_path / "run.npz"
    settings = {"max_bounces": 60_000, "random_state": SEED}
    whole = sample(one, **settings)
    broken_off(one, path, after=1, **settings)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.warns(RuntimeWarning, match="the run continues without it: .*File too large"):
            same(whole, sample(one, checkpoint=path, **settings))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]
    same(whole, sample(one, checkpoint=path, n_jobs=2, **settings))


def test_whichever_write_fails_the_run_and_the_older_file_are_whole(tmp_path):
    """Each operation of the first states that a run writes fails in turn."""
    one, path = space(20), tmp_path / "run.npz"
    settings = {"max_bounces": 6000, "random_state": SEED}
    whole = sample(one, **settings)
    broken_off(one, path, after=1, **settings)
    before = path.read_bytes()
    with failing_disk(0) as steps:
        same(whole, sample(one, checkpoint=path, **settings))
    assert set(steps) == STEPS
    for n in range(1, steps.index("replace") + 2):
        path.write_bytes(before)
        warned = pytest.warns(RuntimeWarning, match="not up to date.*No space left")
        with failing_disk(n) as done, warned as caught:
            same(whole, sample(one, checkpoint=path, **settings))
        assert done[:n] == steps[:n]
        assert str(path) in str(caught[0].message)
        assert os.listdir(tmp_path) == ["run.npz"]
        assert (path.read_bytes() == before) == ("replace" not in done[n:])
        same(whole, sample(one, checkpoint=path, n_jobs=2, **settings))


def mounted(tmp_path, options):
    """Mount a small file system in memory, or skip the test if that is not allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    return folder


def test_a_disk_that_is_read_only(tmp_path):
    """For root too, the run does not begin if its checkpoint cannot be written."""
    folder = mounted(tmp_path, "ro,size=100k")
    try:
        flown = []
        with pytest.raises(OSError, match="Read-only file system"):
            space().sample(
                length=1.0,
                options=SampleOptions(checkpoint=folder / "run.npz"),
                callback=flown.append,
            )
        assert flown == []
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileNotFoundError if os.name == "nt" else NotADirectoryError):
        space().sample(length=1.0, options=SampleOptions(checkpoint=tmp_path / "file" / "run.npz"))
