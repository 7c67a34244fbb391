"""Data that are not in the package: folder, cache, download; without a network."""

from __future__ import annotations

import functools
import hashlib
import http.server
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bayespoint.datasets import load_sonar, load_thyroid
from bayespoint.datasets import origin as datasets_origin
from bayespoint.datasets.tables import bundled

SHARED = os.environ.get("BAYESPOINT_DATA")
NAMES = ("thyroid", "sonar_aspect_split")


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    """No test sees a folder of data, or a cache, but its own; nor the network."""
    monkeypatch.delenv("BAYESPOINT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in NAMES:
        monkeypatch.setitem(
            datasets_origin.ORIGINS,
            name,
            datasets_origin.ORIGINS[name]._replace(urls=("http://127.0.0.1:9/nothing",) * 2),
        )
    return tmp_path / "cache" / "bayespoint"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        super().do_GET()


@pytest.fixture
def server(tmp_path):
    """A web server of a folder, which it counts the requests to."""
    folder = tmp_path / "web"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        web.asked = []
        web.daemon_threads = False
        thread = threading.Thread(target=web.serve_forever, args=(0.02,))
        thread.start()
        yield folder, f"http://127.0.0.1:{web.server_port}", web.asked
        web.shutdown()
        thread.join()


def made_up(monkeypatch, url):
    """Let the origin of thyroid be files of ours, with values of ours."""
    text = "1,100,2.50,3,4,-5\n2,90,1,1,1,0.1\n3,80,7,8,9,10.0\n"
    lines = datasets_origin._thyroid([text])
    digest = hashlib.sha256("\n".join(sorted(lines[1:])).encode()).hexdigest()
    origin = datasets_origin.Origin((f"{url}/new-thyroid.data",), datasets_origin._thyroid, digest)
    monkeypatch.setitem(datasets_origin.ORIGINS, "thyroid", origin)
    return text


def test_download_is_kept_and_asked_for_once(server, monkeypatch, fresh_cache):
    folder, url, asked = server
    (folder / "new-thyroid.data").write_text(made_up(monkeypatch, url))

    first = load_thyroid()
    second = load_thyroid()

    assert asked == ["/new-thyroid.data"]
    assert first.data.tolist() == [[100, 2.5, 3, 4, -5], [80, 7, 8, 9, 10], [90, 1, 1, 1, 0.1]]
    assert first.target.tolist() == [-1, 1, 1]
    np.testing.assert_array_equal(second.data, first.data)
    assert [path.name for path in fresh_cache.iterdir()] == ["thyroid.csv"]
    assert first.filename == str(fresh_cache / "thyroid.csv")


def test_download_goes_into_the_folder_that_is_named(server, monkeypatch, fresh_cache, tmp_path):
    folder, url, _ = server
    (folder / "new-thyroid.data").write_text(made_up(monkeypatch, url))

    load_thyroid(data_home=tmp_path / "home")

    assert (tmp_path / "home" / "thyroid.csv").exists()
    assert not fresh_cache.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("2.50", "2.51"),
        lambda text: text[: len(text) // 2],
        lambda text: "<html>not found</html>",
        lambda text: "",
    ],
    ids=["value", "half", "html", "empty"],
)
def test_corrupted_download_is_refused(server, monkeypatch, fresh_cache, damage):
    folder, url, _ = server
    (folder / "new-thyroid.data").write_text(damage(made_up(monkeypatch, url)))

    with pytest.raises(OSError, match=r"new-thyroid\.data.*[Nn]othing was kept"):
        load_thyroid()
    assert not fresh_cache.exists()


def test_endless_download_is_refused(server, monkeypatch, fresh_cache):
    folder, url, _ = server
    made_up(monkeypatch, url)
    (folder / "new-thyroid.data").write_bytes(b"1" * (datasets_origin._LIMIT + 1))

    with pytest.raises(OSError, match=f"holds more than {datasets_origin._LIMIT} bytes"):
        load_thyroid()
    assert not fresh_cache.exists()


@pytest.mark.parametrize("missing", ["file", "server"])
def test_without_a_connection_it_is_said_what_to_do(server, monkeypatch, fresh_cache, missing):
    _, url, _ = server
    made_up(monkeypatch, url if missing == "file" else "http://127.0.0.1:9")

    with pytest.raises(ConnectionError, match="thyroid is not part of the package") as caught:
        load_thyroid()
    for part in ("thyroid.csv", str(fresh_cache), "data_home", "BAYESPOINT_DATA", "/new-thyroid"):
        assert part in str(caught.value)


def _first_use(url, cache, digest):
    os.environ["XDG_CACHE_HOME"] = cache
    os.environ.pop("BAYESPOINT_DATA", None)
    datasets_origin.ORIGINS["thyroid"] = datasets_origin.Origin(
        (f"{url}/new-thyroid.data",), datasets_origin._thyroid, digest
    )
    return load_thyroid().data.tolist()


def test_concurrent_first_use(server, monkeypatch, fresh_cache):
    folder, url, _ = server
    (folder / "new-thyroid.data").write_text(made_up(monkeypatch, url))
    digest = datasets_origin.ORIGINS["thyroid"].digest
    expected = [[100, 2.5, 3, 4, -5], [80, 7, 8, 9, 10], [90, 1, 1, 1, 0.1]]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: load_thyroid().data.tolist(), range(16)))
    assert found == [expected] * 16
    (fresh_cache / "thyroid.csv").unlink()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        jobs = [pool.submit(_first_use, url, str(fresh_cache.parent), digest) for _ in range(2)]
        assert [job.result() for job in jobs] == [expected] * 2
    assert [path.name for path in fresh_cache.iterdir()] == ["thyroid.csv"]


def test_interrupted_writing_leaves_nothing(monkeypatch, tmp_path):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets_origin.os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        datasets_origin._write("text", tmp_path / "there" / "x.csv")
    assert list((tmp_path / "there").iterdir()) == []


def test_file_that_holds_something_else_is_refused(tmp_path, monkeypatch):
    (tmp_path / "thyroid.csv").write_text("a,b,c,d,e,label\n1,2,3,4,5,1\n")

    with pytest.raises(OSError, match=r"does not hold the thyroid data.*delete or replace"):
        load_thyroid(data_home=tmp_path)
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="BAYESPOINT_DATA must name a folder"):
        load_thyroid()


def test_aspect_split_from_the_two_files_of_its_origin(tmp_path):
    """Files written as UCI's are, from our own values and made-up flags."""
    _, table = bundled("sonar")
    texts = {-1: [], 1: []}
    flags = np.random.default_rng(0).random(len(table)) < 0.5
    for k, row in enumerate(table):
        label = int(row[-1])
        values = "\n ".join(" ".join(f"{v:.4f}" for v in row[i : i + 6]) for i in range(0, 60, 6))
        kind = "M" if label == 1 else "R"
        texts[label].append(f"{'*' * int(flags[k])}C{kind}{k:03d}:\n{{{values}}}\n \n")

    lines = datasets_origin._aspect(["".join(texts[1]), "".join(reversed(texts[-1]))])

    assert lines[0] == "row,id,aspect_train,label"
    fields = [line.split(",") for line in lines[1:]]
    assert [int(row) for row, *_ in fields] == list(range(208))
    assert [flag == "1" for _, _, flag, _ in fields] == flags.tolist()
    assert [int(name[2:]) for _, name, _, _ in fields] == list(range(208))
    with pytest.raises(ValueError, match="echo CM999 is not one of the sonar data"):
        datasets_origin._aspect(["*CM999:\n{0.1 0.2}"])


@pytest.mark.skipif(not SHARED, reason="BAYESPOINT_DATA is not set")
def test_shared_thyroid(monkeypatch):
    monkeypatch.setenv("BAYESPOINT_DATA", SHARED)
    X, y = load_thyroid(return_X_y=True)

    assert X.shape == (215, 5)
    assert np.unique(y, return_counts=True)[1].tolist() == [150, 65]
    raw = np.loadtxt(Path(SHARED, "thyroid.csv"), delimiter=",", skiprows=1)
    assert sorted(map(tuple, raw.tolist())) == sorted(map(tuple, np.column_stack([X, y]).tolist()))


@pytest.mark.skipif(not SHARED, reason="BAYESPOINT_DATA is not set")
def test_shared_aspect_split():
    sonar = load_sonar(split="aspect", data_home=SHARED)
    X_train, X_test, y_train, y_test = load_sonar(split="aspect", return_X_y=True, data_home=SHARED)

    assert X_train.shape == X_test.shape == (104, 60)
    assert [(y == 1).sum() for y in (y_train, y_test)] == [49, 62]
    assert sorted([*sonar.train, *sonar.test]) == list(range(208))
    np.testing.assert_array_equal(sonar.data[sonar.test], X_test)
    frames = load_sonar(split="aspect", return_X_y=True, as_frame=True, data_home=SHARED)
    np.testing.assert_array_equal(frames[0].to_numpy(), X_train)
    np.testing.assert_array_equal(frames[3].to_numpy(), y_test)


def test_sonar_split_arguments():
    with pytest.raises(ValueError, match="split must be one of 'aspect', None"):
        load_sonar(split="half")
    with pytest.raises(ValueError, match="data_home must be None unless split='aspect'"):
        load_sonar(data_home=".")
