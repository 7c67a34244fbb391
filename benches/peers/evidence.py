"""The approximate evidence of the settings that are averaged beside the exact one, by sampling.

    BAYESPOINT_DATA=... python benches/peers/evidence.py

Settings are drawn in proportion to an evidence by expectation propagation. Weights of exp(exact -
approximate) would correct that. The last columns are the log losses on the test examples with
equal weights and with equal weights times these. Of each data set 200 examples are for training, on
which both evidences are computed.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from tables import load, split
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier

NAMES = ("heart", "thyroid", "sonar", "bands", "australian", "magic", "phoneme", "monk-2")


def main() -> None:
    """Print a line for each data set."""
    print("| data | exact - approximate, nats | standard errors | equal | corrected |")
    print("|---|---|---:|---:|---:|")
    for name in NAMES:
        X, y = load(name)
        part = split(X, y, 200, 0)
        train, test = part.numbers()
        model = BayesPointClassifier(n_models=8, random_state=0).fit(train, part.y)
        gaps, errors = [], []
        for one in model.models_:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                exact = one.evidence(tol=0.05, max_length=1e5, random_state=0)
            assert one.tuning_.n_examples == len(train)
            gaps.append(exact.value - one.tuning_.log_evidence)
            errors.append(exact.error)
        each = np.stack([one.predict_proba(test) for one in model.models_])
        losses = [
            log_loss(part.y_test, np.tensordot(weights, each, 1))
            for weights in (np.full(len(each), 1 / len(each)), special.softmax(gaps))
        ]
        shown = ", ".join(f"{gap:+.2f}" for gap in gaps)
        print(
            f"| {name} | {shown} | {max(errors):.2f} | {losses[0]:.4f} | {losses[1]:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
