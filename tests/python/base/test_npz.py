"""Files of arrays: written whole or not at all, and read with suspicion."""

import hashlib
import io
import json
import os
import stat
import zipfile

import numpy as np
import pytest

from bayespoint.base import memory, npz

FORMAT = "test format"
ROOM = 2**20

ARRAYS = {
    "floats": np.array([[0.0, -0.0, 1e-308], [np.inf, np.nan, 1 / 3]]),
    "integers": np.arange(5, dtype=np.uint64) + np.uint64(2**64 - 7),
    "texts": np.array(["ß", "two"]),
    "bytes": np.array([b"x", b"yz"]),
    "dates": np.array(["2026-11-22", "NaT"], dtype="datetime64[D]"),
    "flags.0-a": np.array([True, False]),
    "scalar": np.array(7, dtype=np.int8),
    "nothing": np.zeros((3, 0), dtype=np.float32),
    "other_order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(20, dtype=">i4")[::3],
}
META = {"text": "ß", "seed": 2**64 - 1, "float": 0.1, "none": None, "list": [1, [2.5]], "on": True}


def sealed(body):
    """Return the bytes of an archive with its seal, as whoever wants to do harm would make them."""
    return body + hashlib.sha256(body).hexdigest().encode()


def archive(members, *, compression=zipfile.ZIP_STORED, change=None):
    """Return a sealed archive of members; `change` changes its bytes before the seal."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
        file.comment = npz._SEAL + bytes(64)
    body = buffer.getvalue()[:-64]
    return sealed(change(body) if change else body)


def npy(array, *, allow_pickle=False):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=allow_pickle)
    return buffer.getvalue()


def header_of(shape, descr="<f8", fortran=False):
    """Return the header of an array of any shape, without the array."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def head(text=None):
    text = text or json.dumps({"format": FORMAT, "version": 1, "meta": {}})
    return ("header.npy", npy(np.frombuffer(text.encode(), dtype=np.uint8)))


def refuses(path, match, room=ROOM):
    with pytest.raises(ValueError, match=match) as caught:
        npz.read(path, FORMAT, room)
    assert repr(str(path)) in str(caught.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.npz"


# --- there and back --------------------------------------------------------------------------


def test_comes_back_bit_by_bit(path):
    npz.write(path, FORMAT, 3, ARRAYS, META)
    version, arrays, meta = npz.read(path, FORMAT, ROOM)
    assert version == 3
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        came = arrays[name]
        assert (came.dtype, came.shape) == (array.dtype, array.shape), name
        assert came.tobytes() == np.asarray(array, order="C").tobytes(), name
        assert came.flags.writeable
        assert came.flags.c_contiguous
    with np.load(path, allow_pickle=False) as loaded:
        np.testing.assert_array_equal(loaded["floats"], ARRAYS["floats"])


def test_same_content_same_bytes(tmp_path):
    for name in "ab":
        npz.write(tmp_path / name, FORMAT, 1, ARRAYS, META)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_arrays_and_no_values(path):
    npz.write(path, FORMAT, 1, {}, {})
    assert npz.read(path, FORMAT, ROOM) == (1, {}, {})


@pytest.mark.skipif(os.name == "nt", reason="links take a privilege")
def test_replaces_what_a_link_leads_to(tmp_path, path):
    npz.write(path, FORMAT, 1, {}, {"which": "old"})
    link = tmp_path / "link"
    link.symlink_to(path)
    npz.write(link, FORMAT, 1, {}, {"which": "new"})
    assert link.is_symlink()
    assert npz.read(path, FORMAT, ROOM)[2] == {"which": "new"}


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_mode_is_that_of_any_new_file(tmp_path, path):
    npz.write(path, FORMAT, 1, {}, {})
    (tmp_path / "other").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


# --- what cannot be written ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["header", "", "a/b", "../a", ".a", "a..b", "a b", "a\n", "ä"])
def test_names_of_members(path, name):
    with pytest.raises(ValueError, match="arrays must have names of"):
        npz.write(path, FORMAT, 1, {name: np.zeros(1)}, {})
    assert not path.exists()


@pytest.mark.parametrize(
    "array",
    [np.array([{}], dtype=object), np.zeros(2, dtype="f8,i4"), [1.0], None],
    ids=["objects", "records", "list", "none"],
)
def test_what_is_no_array_of_numbers(path, array):
    with pytest.raises(TypeError, match="array 'x' must hold numbers"):
        npz.write(path, FORMAT, 1, {"x": array}, {})
    assert not path.exists()


def test_values_that_json_does_not_have(path):
    with pytest.raises(TypeError, match="not JSON serializable"):
        npz.write(path, FORMAT, 1, {}, {"x": object()})
    assert not path.exists()


def test_failure_on_the_way_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    npz.write(path, FORMAT, 1, ARRAYS, META)
    before = path.read_bytes()
    for name, error in [
        ("fsync", OSError(28, "No space left on device")),
        ("replace", KeyboardInterrupt()),
    ]:

        def fails(*_, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(npz.os, name, fails)
            with pytest.raises(type(error)):
                npz.write(path, FORMAT, 1, {}, {})
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_full_disk_is_said_with_the_name(path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="could not write the file: File too large") as caught:
            npz.write(path, FORMAT, 1, {"x": np.zeros(10_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(path)
    assert os.listdir(path.parent) == []


def test_no_folder_and_a_folder_in_its_place(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        npz.write(tmp_path / "nowhere" / "x", FORMAT, 1, {}, {})
    with pytest.raises(IsADirectoryError):
        npz.write(tmp_path, FORMAT, 1, {}, {})


def test_leftovers_of_the_killed_are_removed_and_nothing_else(path):
    npz.write(path, FORMAT, 1, {}, {})
    keep = {path.name, ".file.npz.tmp", ".other.npz.0123456789abcdef.tmp", "file.npz.tmp"}
    for name in [*keep - {path.name}, ".file.npz.0123456789abcdef.tmp"]:
        (path.parent / name).write_text("")
    npz.remove_leftovers(path)
    assert set(os.listdir(path.parent)) == keep


# --- accidents -------------------------------------------------------------------------------


def test_every_byte_counts(path):
    npz.write(path, FORMAT, 1, {"x": np.arange(3.0)}, {"a": 1})
    data = path.read_bytes()
    for k in range(len(data)):
        for bit in (1, 32, 128):
            path.write_bytes(data[:k] + bytes([data[k] ^ bit]) + data[k + 1 :])
            refuses(path, "is damaged|was cut")
    path.write_bytes(data)
    npz.read(path, FORMAT, ROOM)


def test_cut_at_every_length(path):
    npz.write(path, FORMAT, 1, {"x": np.arange(3.0)}, {"a": 1})
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        refuses(path, "was cut")
    path.write_bytes(data + b"\0")
    refuses(path, "was cut")


def test_files_of_others(path):
    np.savez(path, x=np.zeros(3))
    refuses(path, "is of another program")
    path.write_bytes(b"")
    refuses(path, "is of another program")
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    refuses(path, "is of another program")
    npz.write(path, "something else", 1, {}, {})
    refuses(path, "says that it is a 'something else'")


def test_no_file(path):
    with pytest.raises(FileNotFoundError):
        npz.read(path, FORMAT, ROOM)
    with pytest.raises(PermissionError if os.name == "nt" else IsADirectoryError):
        npz.read(path.parent, FORMAT, ROOM)


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes")
def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    refuses(path, "must be a file")


def test_longer_than_it_can_be(path):
    npz.write(path, FORMAT, 1, {"x": np.zeros(10_000)}, {})
    refuses(path, "it has 78.7 KiB, where 50.0 KiB would do", room=50 * 1024)


def test_memory(path, monkeypatch):
    npz.write(path, FORMAT, 1, {"x": np.zeros(400_000)}, {})
    monkeypatch.setattr(memory, "available", lambda: 10)
    with pytest.raises(MemoryError, match=r"reading .* needs 6\.1 MiB"):
        npz.read(path, FORMAT, 2**30)


# --- files made to do harm -------------------------------------------------------------------


def written(path, members, match, **options):
    path.write_bytes(archive([head(), *members], **options))
    refuses(path, match)


def test_the_hand_made_archive_is_good_otherwise(path):
    path.write_bytes(archive([head(), ("x.npy", npy(np.arange(3.0)))]))
    _, arrays, _ = npz.read(path, FORMAT, ROOM)
    np.testing.assert_array_equal(arrays["x"], np.arange(3.0))


class Harm:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def test_pickles_are_not_opened(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = np.array([Harm()], dtype=object)
    written(path, [("x.npy", npy(objects, allow_pickle=True))], "not an array of numbers")
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../x.npy",
        "/x.npy",
        "a/x.npy",
        "a\\x.npy",
        "x",
        "x.pkl",
        ".npy",
        "..npy",
        "C:x.npy",
        "x .npy",
    ],
)
def test_tricks_in_names(path, name):
    written(path, [(name, npy(np.zeros(1)))], "a member has the name")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(path):
    written(path, [("x.npy", npy(np.zeros(1))), ("x.npy", npy(np.ones(1)))], "has the name 'x.npy'")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bombs_do_not_go_off(path, method):
    path.write_bytes(archive([head(), ("x.npy", npy(np.zeros(10**6)))], compression=method))
    assert path.stat().st_size < 20_000
    refuses(path, "is compressed")


def test_members_that_claim_the_same_bytes(path):
    """All directory entries lead to one large member: each is as long as nearly the whole file."""

    def same(body):
        central = body.index(b"PK\x01\x02")
        large = body.index(b"PK\x03\x04", body.index(b"x0.npy") - 40)
        changed = bytearray(body)
        at, first = central, None
        while changed[at : at + 4] == b"PK\x01\x02":
            name = bytes(
                changed[at + 46 : at + 46 + int.from_bytes(changed[at + 28 : at + 30], "little")]
            )
            if name == b"x0.npy":
                first = bytes(changed[at + 16 : at + 28])
            elif first is not None:
                changed[at + 16 : at + 28] = first  # checksum and both sizes
                changed[at + 42 : at + 46] = large.to_bytes(4, "little")
            at += 46 + len(name)
        return bytes(changed)

    members = [("x0.npy", npy(np.zeros(1000)))] + [
        (f"x{k}.npy", npy(np.zeros(1))) for k in range(1, 9)
    ]
    written(path, members, "claim to be longer than the file", change=same)


@pytest.mark.parametrize(
    "shape",
    [
        "(1000000000000,)",
        "(2, 3)",
        "(-1,)",
        "(-3, -1)",
        "(9223372036854775808, 0)",
        "(4.0,)",
        "(True, 3)",
        "(4294967296, 4294967296, 4294967296)",
        "(0, 9223372036854775807, 9223372036854775807)",
        "3",
    ],
)
def test_absurd_shapes(path, shape):
    written(path, [("x.npy", header_of(shape) + bytes(24))], "is no test format")


def test_too_many_dimensions(path):
    written(path, [("x.npy", header_of((1,) * 70, "<f8") + bytes(8))], "claims the shape")


@pytest.mark.parametrize("descr", ["|O", "|V8", "<U0", "nonsense", [("a", "<f8")], "<U1000000000"])
def test_absurd_types(path, descr):
    written(path, [("x.npy", header_of((1,), descr) + bytes(8))], "is no test format")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x02\x00" + bytes(100),
        b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 9000,
        b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000,
        b"\x93NUMPY\x01\x00\x10\x27" + b"-" * 10_000,
        header_of("(" + "1" * 9000 + ")"),
        header_of("(" + "1, " * 3000 + ")"),
        header_of((1,), fortran=True) + bytes(8),
        header_of((2,)) + bytes(8),
        header_of((1,)) + bytes(16),
    ],
)
def test_members_that_are_no_arrays(path, data):
    written(path, [("x.npy", data)], "is no test format")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        '{"format": 1, "version": 1, "meta": {}}',
        '{"format": "test format", "version": true, "meta": {}}',
        '{"format": "test format", "version": 1, "meta": []}',
        '{"format": "test format", "version": 1, "meta": {}, "more": 1}',
        '{"format": "test format", "version": ' + "9" * 10_000 + ', "meta": []}',
    ],
)
def test_headers_of_others(path, text):
    path.write_bytes(archive([head(text)]))
    refuses(path, "header|is no test format")


def test_no_header(path):
    path.write_bytes(archive([("x.npy", npy(np.zeros(1)))]))
    refuses(path, "it has no header")


def test_a_wrong_crc_and_a_broken_directory(path):
    def crc(body):
        at = body.index(b"PK\x01\x02") + 16
        return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]

    written(path, [], "Bad CRC-32", change=crc)
    written(
        path, [], "is no test format", change=lambda body: b"\0" * (len(body) - 18) + body[-18:]
    )
    path.write_bytes(sealed(b"nothing of a zip archive" + npz._SEAL))
    refuses(path, "is no test format")


@pytest.mark.slow
def test_random_changes_with_a_good_seal_do_nothing_but_refuse(path):
    """Whatever is done to the bytes, and sealed again, gives the arrays or a ValueError."""
    rng = np.random.default_rng(int(os.environ.get("BAYESPOINT_SEED", "0")))
    body = archive([head(), ("x.npy", npy(np.arange(3.0)))])[:-64]
    refused = 0
    for _ in range(20_000 if os.environ.get("BAYESPOINT_SLOW") == "1" else 3000):
        changed = bytearray(body)
        for at in rng.integers(len(body) - 18, size=rng.integers(1, 4)):
            changed[at] = rng.integers(256)
        path.write_bytes(sealed(bytes(changed)))
        try:
            npz.read(path, FORMAT, ROOM)
        except ValueError:
            refused += 1
    assert refused > 1000, (
        "a change of what is read goes unseen where it makes another good file only"
    )
