"""Peak memory beyond imports, in units of 8 m^2 bytes, of `VersionSpace.sample` and of a fit.

``python benches/memory.py`` where bayespoint is installed; each run is a process of its own. Short
runs: the peak does not depend on their length. Sampling has its Gram matrix made in place; a fit
has kernel and softness given, and keeps its factor.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

HEAD = """
import resource, sys, warnings
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
warnings.simplefilter("ignore", ConvergenceWarning)
m = int(sys.argv[1])
X = np.random.default_rng(0).normal(size=(m, 10))
y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0, 1, -1)
BayesPointClassifier(kernels.RBF(1.0), softness=0.1, tol=0.5).fit(X[:50], y[:50])
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
"""

SAMPLE = """
gram = np.zeros((m, m), dtype=sys.argv[2])
for k in range(0, m, 500):
    gram[k : k + 500] = np.exp(-0.5 * ((X[k : k + 500, None, :1] - X[None, :, :1])[..., 0] ** 2))
options = SampleOptions(max_bounces=2000, refresh=sys.argv[3])
VersionSpace(gram, y, softness=0.1).sample(random_state=0, options=options)
"""

FIT = """
model = BayesPointClassifier(
    kernels.RBF(2.0), approximation=None, softness=0.1, tol=0.5, random_state=0
)
model.fit(X, y)
"""

TAIL = "print(peak() - before)\n"

RUNS = {
    "sample, doubles": (SAMPLE, "float64", "pair"),
    "sample, singles": (SAMPLE, "float32", "pair"),
    "sample, with the factor that softness calls for": (SAMPLE, "float64", "auto"),
    "classifier with factor": (FIT, "", ""),
}


def peak(code: str, m: int, dtype: str, refresh: str) -> int:
    """Return the bytes that a process takes at most, beyond those after its imports."""
    arguments = [sys.executable, "-c", HEAD + code + TAIL, str(m), dtype, refresh]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return int(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("m", type=int, nargs="?", default=10_000, help="default: %(default)s")
    only = "of: " + ", ".join(RUNS)
    parser.add_argument("--only", choices=list(RUNS), help=only)
    options = parser.parse_args()
    unit = 8 * options.m**2
    print("| run | peak, MB | in 8 m² bytes |")
    print("|---|---:|---:|")
    for name, (code, dtype, refresh) in RUNS.items():
        if options.only in (None, name):
            used = peak(code, options.m, dtype, refresh)
            print(f"| {name} | {used / 1e6:.0f} | {used / unit:.2f} |", flush=True)


if __name__ == "__main__":
    main()
