"""Sample weights of any size: seconds, memory and log loss beside no weights and beside others.

``python benches/weights.py`` where bayespoint is installed. Six normal features, labels by a
function of four with noise, 5000 points for the test; the weights say nothing about labels, so that
without weights the log loss should be the lowest.
"""

from __future__ import annotations

import resource
import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier


def data(n: int, seed: int) -> tuple[Any, Any]:
    """Return inputs and labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    f = 1.2 * np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.7 * X[:, 3]
    return X, (f + 0.8 * rng.standard_normal(n) > 0).astype(int)


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    cases = {
        "300, 1 to 3": rng.integers(1, 4, 300),
        "300, all 2": np.full(300, 2),
        "300, all 100": np.full(300, 100),
        "300, all 1e6": np.full(300, 1e6),
        "300, a bootstrap": rng.multinomial(300, np.full(300, 1 / 300)),
        "5000, 100 to 10 000": np.exp(rng.uniform(np.log(100), np.log(10_000), 5000)),
    }
    X_test, y_test = data(5000, 99)
    print("| weights | s | log loss | without weights | logistic | without | warnings | GiB |")
    print(f"|---|{'---:|' * 7}")
    for name, weight in cases.items():
        X, y = data(len(weight), 0)
        losses, seconds, warned = [], 0.0, 0
        for given in (weight, None):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                began = time.perf_counter()
                model = BayesPointClassifier(n_jobs=2, random_state=0).fit(X, y, given)
            if given is not None:
                seconds, warned = time.perf_counter() - began, len(found)
            losses.append(log_loss(y_test, model.predict_proba(X_test)))
        for given in (weight, None):
            rival = make_pipeline(StandardScaler(), LogisticRegression())
            rival.fit(X, y, logisticregression__sample_weight=given)
            losses.append(log_loss(y_test, rival.predict_proba(X_test)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        cells = " | ".join(f"{loss:.3f}" for loss in losses)
        print(f"| {name} | {seconds:.1f} | {cells} | {warned} | {peak:.2f} |", flush=True)


if __name__ == "__main__":
    main()
