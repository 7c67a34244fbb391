"""More columns than rows: log loss and seconds of the default beside linear models.

    python benches/wide.py          all, ten minutes
    python benches/wide.py factors  labels of one kind

Mean over five draws of 100 or 400 training and 1000 test rows. "few": 15 of the columns inform and
40 more repeat them (scikit-learn's `make_classification`). "all": every column counts a little.
"factors": the columns are noisy mixtures of ten factors, one of which decides.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.kernels import Linear, Scaled

MODELS = {
    "default": lambda: BayesPointClassifier(random_state=0),
    "`Scaled(Linear())`": lambda: BayesPointClassifier(Scaled(Linear()), random_state=0),
    "`PCA(20)`, default": lambda: make_pipeline(
        StandardScaler(), PCA(20, random_state=0), BayesPointClassifier(random_state=0)
    ),
    "logistic regression, tuned": lambda: make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(
            scoring="neg_log_loss", max_iter=2000, l1_ratios=(0,), use_legacy_attributes=False
        ),
    ),
}
TEST = 1000


def data(kind: str, n: int, d: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows with labels."""
    rng = np.random.default_rng(draw)
    if kind == "few":
        return make_classification(
            n + TEST, d, n_informative=15, n_redundant=40, class_sep=1.6, random_state=draw
        )
    if kind == "all":
        X, effects = rng.standard_normal((n + TEST, d)), rng.standard_normal(d) / np.sqrt(d)
        score = 4 * X @ effects
    else:
        factors = rng.standard_normal((n + TEST, 10))
        X = factors @ rng.standard_normal((10, d)) + 3 * rng.standard_normal((n + TEST, d))
        score = 3 * factors[:, 0]
    return X, score + rng.logistic(size=n + TEST) > 0


def main(kinds: list[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| labels from | rows | columns |", " | ".join(MODELS), "|")
    print("|---|---:|---:|" + "---:|" * len(MODELS))
    for kind in kinds:
        for n, d in ((100, 1000), (400, 1000), (100, 5000)):
            cells = []
            for make in MODELS.values():
                losses, began = [], time.process_time()
                for draw in range(5):
                    X, y = data(kind, n, d, draw)
                    model = make().fit(X[:n], y[:n])
                    losses.append(log_loss(y[n:], model.predict_proba(X[n:])))
                seconds = (time.process_time() - began) / 5
                cells.append(f"{np.mean(losses):.3f} ({seconds:.1f} s)")
            print(f"| {kind} | {n} | {d} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["few", "all", "factors"])
