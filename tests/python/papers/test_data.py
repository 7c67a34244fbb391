"""Data that only the papers need: read from a folder, downloaded (without a network), generated."""

import functools
import hashlib
import http.server
import threading

import numpy as np
import pytest

from bayespoint.datasets import load_sonar
from bayespoint.papers import data
from helpers import seed

TEXT = "1,100,2.50,3,4,-5\n2,90,1,1,1,0.1\n3,80,7,8,9,10.0\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Give each test its own folder of data and cache, and no network."""
    monkeypatch.delenv("BAYESPOINT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, origin in data.DOWNLOADS.items():
        monkeypatch.setitem(
            data.DOWNLOADS, name, origin._replace(urls=("http://127.0.0.1:9/nothing",) * 2)
        )
    return tmp_path / "cache" / "bayespoint"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        super().do_GET()


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Return a folder and a web server of it with made-up thyroid data."""
    folder = tmp_path / "web"
    folder.mkdir()
    digest = hashlib.sha256("\n".join(sorted(data.parse_thyroid([TEXT])[1:])).encode()).hexdigest()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        web.asked = []
        web.daemon_threads = False
        thread = threading.Thread(target=web.serve_forever, args=(0.02,))
        thread.start()
        url = f"http://127.0.0.1:{web.server_port}/new-thyroid.data"
        monkeypatch.setitem(
            data.DOWNLOADS, "thyroid", data.Download((url,), data.parse_thyroid, digest)
        )
        yield folder / "new-thyroid.data", web.asked
        web.shutdown()
        thread.join()


@pytest.mark.parametrize("named", [False, True])
def test_download_is_kept_and_asked_for_once(server, cache, tmp_path, named):
    file, asked = server
    file.write_text(TEXT)
    home = {"data_home": tmp_path / "home"} if named else {}
    for _ in range(2):
        X, y = data.load_thyroid(**home)
        assert X.tolist() == [[100, 2.5, 3, 4, -5], [80, 7, 8, 9, 10], [90, 1, 1, 1, 0.1]]
        assert y.tolist() == [-1, 1, 1]
    assert asked == ["/new-thyroid.data"]
    folder = home.get("data_home", cache)
    assert [path.name for path in folder.iterdir()] == ["thyroid.csv"]
    assert named != cache.exists()


@pytest.mark.parametrize(
    "text",
    [TEXT.replace("2.50", "2.51"), TEXT[: len(TEXT) // 2], "<html>not found</html>", ""],
    ids=["value", "half", "html", "empty"],
)
def test_corrupted_download_is_refused(server, cache, text):
    server[0].write_text(text)
    with pytest.raises(OSError, match=r"new-thyroid\.data.*[Nn]othing was kept"):
        data.load_thyroid()
    assert not cache.exists()


def test_without_a_connection_it_is_said_what_to_do(cache):
    with pytest.raises(ConnectionError, match="thyroid is not part of the package") as caught:
        data.load_thyroid()
    for part in ("thyroid.csv", str(cache), "data_home", "BAYESPOINT_DATA", "/nothing"):
        assert part in str(caught.value)


def test_file_that_holds_something_else_is_refused(tmp_path, monkeypatch):
    (tmp_path / "thyroid.csv").write_text("a,b,c,d,e,label\n1,2,3,4,5,1\n")
    with pytest.raises(OSError, match=r"does not hold the thyroid data.*delete or replace"):
        data.load_thyroid(data_home=tmp_path)
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="BAYESPOINT_DATA must name a folder"):
        data.load_thyroid()


def test_aspect_split_from_the_two_files_of_its_origin():
    """Files in UCI's format, from our own values and made-up flags."""
    X, y = load_sonar(return_X_y=True)
    texts = {-1: [], 1: []}
    flags = np.random.default_rng(0).random(len(X)) < 0.5
    for k, (row, label) in enumerate(zip(X, y.tolist(), strict=True)):
        values = "\n ".join(" ".join(f"{v:.4f}" for v in row[i : i + 6]) for i in range(0, 60, 6))
        kind = "M" if label == 1 else "R"
        texts[label].append(f"{'*' * int(flags[k])}C{kind}{k:03d}:\n{{{values}}}\n \n")
    lines = data.parse_aspect(["".join(texts[1]), "".join(reversed(texts[-1]))])
    assert lines[0] == "row,id,aspect_train,label"
    fields = [line.split(",") for line in lines[1:]]
    assert [int(row) for row, *_ in fields] == list(range(208))
    assert [flag == "1" for _, _, flag, _ in fields] == flags.tolist()
    assert [int(name[2:]) for _, name, _, _ in fields] == list(range(208))
    with pytest.raises(ValueError, match="echo CM999 is not one of the sonar data"):
        data.parse_aspect(["*CM999:\n{0.1 0.2}"])


def wave(peak):
    return np.maximum(6 - abs(np.arange(1, 22) - peak), 0)


def test_waveforms_have_breimans_moments():
    """Mean and covariance of each class, in closed form: u uniform has mean 1/2, variance 1/12."""
    n = 30_000
    X, y = data.make_waveform(n, random_state=seed(1))
    positive, negative = X[y == 1], X[y == -1]
    assert abs(len(positive) / n - 1 / 3) < 5 * np.sqrt(2 / 9 / n)
    mean = (wave(7) + wave(11)) / 2
    cov = np.eye(21) + np.outer(wave(7) - wave(11), wave(7) - wave(11)) / 12
    error = np.sqrt(np.diag(cov) / len(positive))
    assert (abs(positive.mean(axis=0) - mean) < 5 * error).all()
    spread = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / len(positive))
    assert (abs(np.cov(positive.T) - cov) < 6 * spread).all()
    # the others: peak 15 with 7 or with 11, half each
    mean = (wave(15) + (wave(7) + wave(11)) / 2) / 2
    error = negative.std(axis=0) / np.sqrt(len(negative))
    assert (abs(negative.mean(axis=0) - mean) < 5 * error).all()


def test_interrupted_writing_leaves_nothing(server, cache, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    server[0].write_text(TEXT)
    monkeypatch.setattr(data.os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        data.load_thyroid()
    assert list(cache.iterdir()) == []
