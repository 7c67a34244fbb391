"""What it costs to add examples to a fitted classifier, and how exact the result is.

``python benches/update.py`` where bayespoint is installed. Eight normal features, labels from a
function of four of them with noise, RBF kernel of length scale 3, softness 0.2, two classes. Both a
fit to all examples and an update of a fit to the others are compared with a run of a fifth of the
tolerance: the angle between the centers, and the mean difference of the probabilities of 500
points. CPU seconds of one thread, medians over the seeds, fits and updates in turns.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF

CASES = ((200, 1), (200, 5), (1000, 1), (1000, 10), (3000, 1), (3000, 10))


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 8))
    f = 1.5 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
    return X, (f + 0.5 * rng.standard_normal(n) > 0).astype(int)


def classifier(seed: int, **settings: float) -> BayesPointClassifier:
    """Return the classifier."""
    given = {"softness": 0.2, "standardize": False, "approximation": None, "n_jobs": 1}
    return BayesPointClassifier(RBF(3.0), random_state=seed, **given | settings)


def angle(one: BayesPointClassifier, other: BayesPointClassifier) -> float:
    """Return the angle between two centers, of the same examples."""
    lower = other.models_[0].basis.factor.lower
    v, w = ((each.dual_coef_ @ lower).ravel() for each in (one, other))
    return float(np.arccos(min(1.0, v @ w / np.linalg.norm(v) / np.linalg.norm(w))))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(
        "| examples | new | fit, ms | update, ms | ratio | error of the center, stated / true "
        "| difference of p, fit / update | by a billiard |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for m, k in CASES:
        X, y = data(m + k + 500)
        X, points, y = X[: m + k], X[m + k :], y[: m + k]
        tol = 0.03 * max(1.0, (m / 500) ** 0.5)
        long = classifier(n_seeds, tol=tol / 5, n_draws=1000).fit(X, y)
        p = long.predict_proba(points)
        rows, differences, by_billiard = [], [], 0
        for seed in range(n_seeds):
            began = time.process_time()
            fit = classifier(seed).fit(X, y)
            fitted = time.process_time()
            model = classifier(seed).fit(X[:m], y[:m])
            known = time.process_time()
            model.update(X[m:], y[m:])
            updated = time.process_time()
            rows.append((fitted - began, updated - known))
            if not model.models_[0].basis.added:
                by_billiard += 1
                continue
            both = [np.abs(each.predict_proba(points) - p).mean() for each in (fit, model)]
            differences.append((*both, angle(model, long), model.billiard_.center_error))
        fit_time, update_time = np.median(rows, axis=0)
        of_fit, of_update = np.mean(differences, axis=0)[:2]
        true, stated = np.sqrt(np.mean(np.square(differences), axis=0))[2:]
        print(
            f"| {m} | {k} | {1e3 * fit_time:.0f} | {1e3 * update_time:.1f} | "
            f"1/{fit_time / update_time:.0f} | {stated:.3f} / {true:.3f} | {of_fit:.4f} / "
            f"{of_update:.4f} | {by_billiard} of {n_seeds} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
