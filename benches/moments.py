"""How far the default probabilities, of two moments, are from those of the posterior ("mixture").

``python benches/moments.py`` where bayespoint is installed: the bundled tables with 30 and 150
examples, without label noise and with a rate that is searched; the rest of each table are points.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier, datasets

LOADERS = (
    datasets.load_sonar,
    datasets.load_heart,
    datasets.load_ionosphere,
    datasets.load_diabetes,
    datasets.load_wisconsin,
)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| data | examples | label noise | mean | largest | log loss | mixture | s | mixture |")
    print(f"|---|{'---:|' * 8}")
    for load in LOADERS:
        data = load()
        order = np.random.default_rng(0).permutation(len(data.target))
        points, labels = data.data[order[150:]], data.target[order[150:]]
        for n in (30, 150):
            for noise in (0.0, None):
                model = BayesPointClassifier(label_noise=noise, random_state=0)
                model.fit(data.data[order[:n]], data.target[order[:n]])
                cells, found = [], []
                for method in ("moments", "mixture"):
                    began = time.perf_counter()
                    found.append(model.predict_proba(points, method=method))
                    cells.append(f"{time.perf_counter() - began:.2f}")
                apart = np.abs(found[0] - found[1])
                losses = " | ".join(f"{log_loss(labels, p):.3f}" for p in found)
                print(
                    f"| {load.__name__.removeprefix('load_')} | {n} | {noise} | "
                    f"{apart.mean():.4f} | {apart.max():.3f} | {losses} | {' | '.join(cells)} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
