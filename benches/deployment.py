"""What a fitted model costs where it predicts: latency, files, memory, ONNX.

    python benches/deployment.py            all models, some minutes
    python benches/deployment.py 0 3        the first and the fourth

Each model is fitted, saved, and loaded by a new process that predicts probabilities, one row at a
time and 1000 rows at once, on one thread. Times are those of the processor, for predictions the
least of many calls. "Memory" is what the process grows by until it has answered single rows,
"forked" what a fork of it then has of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import joblib
import numpy as np
import psutil
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier, load
from bayespoint.export import to_onnx

FEATURES, ROWS = 20, 1000
PEERS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "`SVC`, labels only": make_pipeline(StandardScaler(), SVC()),
}
MODELS = [
    ("default", 200, 2, {}),
    ("default", 1000, 2, {}),
    ('`approximation="landmarks"`', 1000, 2, {"approximation": "landmarks"}),
    ("default", 4000, 2, {}),
    ("default (landmarks)", 10_000, 2, {}),
    ("default, three classes", 500, 3, {}),
    *((name, 1000, 2, None) for name in PEERS),
]


def data(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs, and labels with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES))
    score = X[:, 0] + np.sin(2 * X[:, 1]) / 2 + 0.5 * rng.standard_normal(n)
    return X, np.digitize(score, np.linspace(-0.5, 0.5, n_classes + 1)[1:-1])


def best(call, seconds: float = 0.7) -> float:
    """Return the least time of a call in milliseconds."""
    end, least = time.process_time() + seconds, np.inf
    while time.process_time() < end:
        begin = time.process_time()
        call()
        least = min(least, time.process_time() - begin)
    return 1000 * least


def opened(path: Path, kind: str):
    """Return a function of rows that a saved model answers."""
    if kind == "onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda rows: session.run(["label", "probabilities"], {"X": rows})
    model = joblib.load(path) if kind == "joblib" else load(path)
    return getattr(model, "predict_proba", model.predict)


def in_fork(answer, X, found) -> None:
    """Answer a row, and say how much memory belongs to this process alone."""
    answer(X[:1])
    found.value = psutil.Process().memory_full_info().uss / 1e6


def serve(path: Path, kind: str) -> dict[str, float]:
    """Load a model and return what its predictions cost in this process."""
    if kind == "skops":
        import skops.io  # noqa: F401  takes a second, whatever is loaded
    X, _ = data(ROWS, 2)
    own, begin = psutil.Process(), time.process_time()
    before = own.memory_info().rss
    answer = opened(path, kind)
    found = {"load": 1000 * (time.process_time() - begin)}
    begin = time.process_time()
    answer(X[:1])
    found["first"] = 1000 * (time.process_time() - begin)
    found["one"] = best(lambda: answer(X[:1]))
    found["memory"] = (own.memory_info().rss - before) / 1e6
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=in_fork, args=(answer, X, uss := fork.Value("d", 0.0)))
    child.start()
    child.join()
    found["forked"] = uss.value
    found["many"] = best(lambda: answer(X))
    return found


def measure(path: Path, kind: str) -> dict[str, float]:
    """Return what a new process measures."""
    command = [sys.executable, __file__, "serve", str(path), kind]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def row(name: str, n: int, path: Path, kind: str) -> None:
    """Print a row of the table."""
    got = measure(path, kind)
    times = " | ".join(
        f"{float(f'{got[key]:.2g}'):g} ms" for key in ("load", "first", "one", "many")
    )
    size = float(f"{path.stat().st_size / 1e6:.2g}")
    memory = f"{got['memory']:.0f} MB | {got['forked']:.0f} MB"
    print(f"| {name} | {n} | {size:g} MB | {memory} | {times} |", flush=True)


def main(chosen: list[int]) -> None:
    """Print the table."""
    columns = ["model", "examples", "file", "memory", "forked", "load", "first row", "one row"]
    print("|", " | ".join([*columns, "1000 rows"]), "|")
    print("|---|", "---:|" * len(columns), sep="")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        for name, n, n_classes, settings in [MODELS[k] for k in chosen]:
            X, y = data(n, n_classes)
            if settings is None:
                joblib.dump(PEERS[name].fit(X, y), path / "model.joblib")
                row(name, n, path / "model.joblib", "joblib")
                continue
            model = BayesPointClassifier(random_state=0, **settings).fit(X, y)
            model.save(path / "model.skops")
            row(name, n, path / "model.skops", "skops")
            (path / "model.onnx").write_bytes(to_onnx(model).SerializeToString())
            row(f"{name}, as ONNX", n, path / "model.onnx", "onnx")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        print(json.dumps(serve(Path(sys.argv[2]), sys.argv[3])))
    else:
        main([int(k) for k in sys.argv[1:]] or list(range(len(MODELS))))
