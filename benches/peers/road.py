"""The road from a thousand to a million examples, beside others: log loss, seconds, memory.

    python benches/peers/road.py --out road.csv [--data normal forest magic digits]
    python benches/peers/road.py --out road.csv --report [--picture road.png]

The data, of which the best log loss is known where it is made:

- "normal": 20 normal features; the labels follow a smooth function of some of them with noise.
- "forest": 54 features as in tables of forest cover, ten skewed or cyclic measurements, 4 areas and
  40 soils as indicators; the labels follow thresholds and products of them with noise.
- "magic": the file ``tabular/magic.csv`` of the folder BAYESPOINT_DATA, a quarter for the test.
- "digits": even against odd of 60 000 images, which `benches/digits.py` makes of MNIST's.
- "mnist": the ten classes of MNIST's first 5000 digits, 1000 of them for the test.
- "letters": the 26 classes of `benches/letters.py`.

Every method runs in a process of its own, with `--threads` threads, and with the settings that a
user would take: bayespoint's defaults; scikit-learn's `Nystroem` features with logistic regression,
gamma and C chosen by three folds on at most 5000 examples; LightGBM and CatBoost with a tenth held
out for early stopping; GPyTorch's stochastic variational classifier with 500 inducing points and a
length scale for each feature, trained by Adam in batches of 1024 until a held-out tenth gains no
more; GPBoost's Gaussian process with 200 inducing points and 30 neighbors of the residual (VIF), a
length scale for each feature, and Laplace's approximation; pytabkit's RealMLP and xRFM with their
tuned defaults. GPyTorch and pytabkit have an environment of their own: name its interpreter with
--torch. Rows are added to a file that exists.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = {
    "normal": (1000, 10_000, 100_000, 1_000_000),
    "forest": (10_000, 100_000, 500_000),
    "magic": (14_265,),
    "digits": (60_000,),
    "mnist": (4000,),
    "letters": (5000,),
}
N_TEST = 20_000
N_FEATURES = 20
SEARCHED = 5000
INDUCING = 500
BATCH = 1024
FIELDS = ("data", "method", "examples", "log_loss", "error", "best", "fit", "predict", "gib")


def normal(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return normal inputs, labels, and the true probabilities of the second class."""
    import numpy as np
    from scipy.special import ndtr

    teacher = np.random.default_rng(99)
    scales = 0.8 * np.exp(-np.arange(N_FEATURES) / 4)
    directions = teacher.standard_normal((N_FEATURES, 200)) * scales[:, None]
    phases = teacher.uniform(0, 2 * np.pi, 200)
    weights = teacher.standard_normal(200) * np.sqrt(2 / 200) * 2
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    f = np.empty(n)
    for first in range(0, n, 50_000):
        rows = slice(first, first + 50_000)
        f[rows] = np.cos(X[rows] @ directions + phases) @ weights + 0.7 * X[rows, 0]
    p = ndtr(f / 0.7)
    return X, (rng.random(n) < p).astype(int), p


def forest(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return measurements, areas and soils, labels, and the true probabilities."""
    import numpy as np
    from scipy.special import expit

    teacher = np.random.default_rng(98)
    of_soil = 0.8 * teacher.standard_normal(40)
    level = np.sort(teacher.uniform(2000, 3300, 40))
    rng = np.random.default_rng(seed)
    elevation = rng.normal(2900, 280, n)
    aspect = rng.uniform(0, 360, n)
    slope = rng.gamma(3.5, 4.0, n)
    water, roads, fires = (rng.gamma(1.5, scale, n) for scale in (180, 1100, 1000))
    height = 0.2 * water * rng.standard_normal(n)
    turn = np.deg2rad(aspect)
    shade = [200 + 2 * slope * np.cos(turn - at) + rng.normal(0, 5, n) for at in (1.5, 3, 4.5)]
    area = np.digitize(elevation + rng.normal(0, 250, n), (2500, 2850, 3150))
    soil = np.abs(elevation[:, None] + rng.normal(0, 300, (n, 1)) - level).argmin(axis=1)
    f = 3 * np.exp(-(((elevation - 2850) / 180) ** 2)) - 1.4
    f += np.where((elevation > 3000) & (roads < 1200), 1.5, 0.0)
    f += 0.8 * np.cos(turn - 0.6) * np.minimum(slope, 25) / 10 + of_soil[soil]
    f += np.where(area == 2, -0.8, 0.3) * np.log1p(fires / 800) + 0.6 * np.tanh(height / 60)
    p = expit(1.5 * f)
    measured = [elevation, aspect, slope, water, height, roads, fires, *shade]
    X = np.column_stack([*measured, np.eye(4)[area], np.eye(40)[soil]])
    return X, (rng.random(n) < p).astype(int), p


def load(data: str, m: int) -> tuple[Any, Any, Any, Any, float]:
    """Return training inputs and labels, those of the test, and the best log loss or NaN."""
    import numpy as np

    if data in ("normal", "forest"):
        make = {"normal": normal, "forest": forest}[data]
        X, y, _ = make(m, 2)
        X_test, y_test, p = make(N_TEST, 1)
        return X, y, X_test, y_test, float(-np.log(np.where(y_test == 1, p, 1 - p)).mean())
    sys.path.insert(0, str(Path(__file__).parents[1]))
    if data == "letters":
        from letters import letters

        X, y = letters(m + 2000, 0)
        return X[:m], y[:m], X[m:], y[m:], float("nan")
    if data == "mnist":
        file = Path(os.environ["BAYESPOINT_DATA"]) / "mnist5k_multiclass.csv.gz"
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
        rows = rows[np.random.default_rng(0).permutation(len(rows))]
        X, y = rows[:, :-1], rows[:, -1].astype(int)
        return X[:m], y[:m], X[m:], y[m:], float("nan")
    if data == "digits":
        from digits import digits

        X, y, X_test, y_test = digits(m, 0)
        return X, (y == 1).astype(int), X_test, (y_test == 1).astype(int), float("nan")
    from sklearn.model_selection import train_test_split

    rows = np.loadtxt(
        Path(os.environ["BAYESPOINT_DATA"]) / "tabular" / "magic.csv",
        delimiter=",",
        skiprows=1,
        dtype=str,
    )
    X, y = rows[:, :-1].astype(float), np.unique(rows[:, -1], return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, y, train_size=m, stratify=y, random_state=0)
    return X, y, X_test, y_test, float("nan")


def ours(X: Any, y: Any, threads: int) -> Any:
    """Return the fitted default."""
    from bayespoint import BayesPointClassifier

    return BayesPointClassifier(random_state=0, n_jobs=threads, verbose=1).fit(X, y)


def nystroem(X: Any, y: Any, threads: int) -> Any:
    """Return logistic regression on features, the parameters of which are searched on a part."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(
        StandardScaler(),
        Nystroem(n_components=500, random_state=0),
        LogisticRegression(max_iter=1000),
    )
    grid = {
        "nystroem__gamma": [g * 20 / X.shape[1] for g in (0.003, 0.01, 0.03, 0.1)],
        "logisticregression__C": [0.1, 1.0, 10.0, 100.0],
    }
    search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3, n_jobs=threads)
    search.fit(X[:SEARCHED], y[:SEARCHED])
    return pipeline.set_params(**search.best_params_).fit(X, y)


def lightgbm(X: Any, y: Any, threads: int) -> Any:
    """Return trees, as many as a held-out tenth wants."""
    from lightgbm import LGBMClassifier, early_stopping

    n = len(y) // 10
    return LGBMClassifier(
        n_estimators=5000, learning_rate=0.05, n_jobs=threads, random_state=0, verbose=-1
    ).fit(
        X[n:],
        y[n:],
        eval_X=X[:n],
        eval_y=y[:n],
        callbacks=[early_stopping(50, verbose=False)],
    )


def catboost(X: Any, y: Any, threads: int) -> Any:
    """Return trees, as many as a held-out tenth wants."""
    from catboost import CatBoostClassifier

    n = len(y) // 10
    return CatBoostClassifier(
        iterations=5000,
        random_seed=0,
        thread_count=threads,
        verbose=0,
        allow_writing_files=False,
        early_stopping_rounds=50,
    ).fit(X[n:], y[n:], eval_set=(X[:n], y[:n]))


class Variational:
    """GPyTorch's stochastic variational Gaussian process classifier."""

    def __init__(self, X: Any, y: Any, threads: int) -> None:
        import gpytorch
        import numpy as np
        import torch
        from sklearn.cluster import MiniBatchKMeans

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self.mean, self.scale = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12)
        Z = (X - self.mean) / self.scale
        held = len(y) // 10
        some = Z[held : held + 20_000]
        k = min(INDUCING, len(some) // 2)
        centers = MiniBatchKMeans(k, random_state=0, n_init=1).fit(some).cluster_centers_

        class Model(gpytorch.models.ApproximateGP):
            def __init__(self, points: Any) -> None:
                law = gpytorch.variational.CholeskyVariationalDistribution(len(points))
                strategy = gpytorch.variational.VariationalStrategy(self, points, law)
                super().__init__(strategy)
                self.mean_module = gpytorch.means.ConstantMean()
                kernel = gpytorch.kernels.MaternKernel(2.5, ard_num_dims=points.shape[1])
                kernel.lengthscale = points.shape[1] ** 0.5
                self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

            def forward(self, x: Any) -> Any:
                return gpytorch.distributions.MultivariateNormal(
                    self.mean_module(x), self.covar_module(x)
                )

        self.model = Model(torch.tensor(centers, dtype=torch.float32))
        self.likelihood = gpytorch.likelihoods.BernoulliLikelihood()
        inputs = torch.tensor(Z[held:], dtype=torch.float32)
        labels = torch.tensor(y[held:], dtype=torch.float32)
        bound = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, len(labels))
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        best, state, worse = np.inf, None, 0
        while worse < 3:
            self.model.train()
            for _ in range(max(1, -(-200 * BATCH // len(labels)))):
                for rows in torch.randperm(len(labels)).split(BATCH):
                    optimizer.zero_grad()
                    loss = -bound(self.model(inputs[rows]), labels[rows])
                    loss.backward()
                    optimizer.step()
            p = self.predict_proba(X[:held])[:, 1]
            value = -np.log(np.where(y[:held] == 1, p, 1 - p)).mean()
            worse = 0 if value < best - 1e-4 else worse + 1
            print(f"held out: {value:.4f}", flush=True)
            if value < best:
                best = value
                state = {name: v.clone() for name, v in self.model.state_dict().items()}
        self.model.load_state_dict(state)

    def predict_proba(self, X: Any) -> Any:
        """Return (n, 2) probabilities."""
        import numpy as np
        import torch

        self.model.eval()
        Z = torch.tensor((X - self.mean) / self.scale, dtype=torch.float32)
        with torch.no_grad():
            parts = [self.likelihood(self.model(part)).mean.numpy() for part in Z.split(5000)]
        p = np.concatenate(parts).astype(float).clip(1e-6, 1 - 1e-6)
        return np.column_stack([1 - p, p])


class Neighbors:
    """GPBoost's Gaussian process of inducing points and of the nearest neighbors of the rest."""

    def __init__(self, X: Any, y: Any, threads: int) -> None:
        import gpboost
        import numpy as np

        self.mean, self.scale = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12)
        self.model = gpboost.GPModel(
            gp_coords=(X - self.mean) / self.scale,
            likelihood="bernoulli_probit",
            cov_function="matern_ard",
            cov_fct_shape=2.5,
            gp_approx="full_scale_vecchia",
            num_parallel_threads=threads,
        )
        self.model.fit(y=y.astype(float), X=np.ones((len(y), 1)))

    def predict_proba(self, X: Any) -> Any:
        """Return (n, 2) probabilities."""
        import numpy as np

        p = self.model.predict(
            gp_coords_pred=(X - self.mean) / self.scale, X_pred=np.ones((len(X), 1))
        )["mu"]
        p = np.clip(p, 1e-6, 1 - 1e-6)
        return np.column_stack([1 - p, p])


def real_mlp(X: Any, y: Any, threads: int) -> Any:
    """Return pytabkit's multilayer perceptron with its tuned defaults."""
    from pytabkit import RealMLP_TD_Classifier

    return RealMLP_TD_Classifier(random_state=0, n_threads=threads, device="cpu").fit(X, y)


def xrfm(X: Any, y: Any, threads: int) -> Any:
    """Return pytabkit's recursive feature machines with their tuned defaults."""
    from pytabkit import XRFM_D_Classifier

    return XRFM_D_Classifier(random_state=0, n_threads=threads, device="cpu").fit(X, y)


def transformed(X: Any, y: Any, threads: int) -> Any:
    """Return the default behind scikit-learn's power transform."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PowerTransformer

    from bayespoint import BayesPointClassifier

    model = BayesPointClassifier(random_state=0, n_jobs=threads)
    return make_pipeline(PowerTransformer(), model).fit(X, y)


METHODS: dict[str, Callable[..., Any]] = {
    "ours": ours,
    "ours, power transform": transformed,
    "nystroem": nystroem,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "variational": Variational,
    "neighbors": Neighbors,
    "realmlp": real_mlp,
    "xrfm": xrfm,
}

TORCH = ("variational", "realmlp", "xrfm")
"""The methods with an environment of their own."""

LABELS = {
    "ours": "bayespoint",
    "nystroem": "Nyström features, logistic regression",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "variational": "variational Gaussian process",
}
"""The methods in the picture."""


def measure(data: str, method: str, m: int, threads: int, out: Path) -> None:
    """Append a row of the table."""
    from sklearn.metrics import log_loss

    X, y, X_test, y_test, best = load(data, m)
    begin = time.perf_counter()
    model = METHODS[method](X, y, threads)
    middle = time.perf_counter()
    p = model.predict_proba(X_test)
    end = time.perf_counter()
    row = [
        data,
        method,
        m,
        log_loss(y_test, p),
        float((p.argmax(axis=1) != y_test).mean()),
        best,
        middle - begin,
        end - middle,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    ]
    print(dict(zip(FIELDS, row, strict=True)), flush=True)
    with out.open("a", newline="") as file:
        csv.writer(file).writerow(row)


def read(out: Path) -> list[dict[str, Any]]:
    """Return the rows that were measured."""
    with out.open(newline="") as file:
        return [
            {k: v if k in ("data", "method") else float(v) for k, v in row.items()}
            for row in csv.DictReader(file, FIELDS)
        ]


def report(out: Path) -> None:
    """Print a table for each kind of data, and how time grows between sizes."""
    import numpy as np

    rows = read(out)
    for data in dict.fromkeys(row["data"] for row in rows):
        some = [row for row in rows if row["data"] == data]
        best = "" if np.isnan(some[0]["best"]) else f"; the best log loss is {some[0]['best']:.4f}"
        print(f"\n{data}{best}\n")
        print("| examples | method | log loss | error | fit, s | predictions, s | GiB |")
        print("|---:|---|---:|---:|---:|---:|---:|")
        for row in sorted(some, key=lambda row: row["examples"]):
            print(
                f"| {row['examples']:,.0f} | {row['method']} | {row['log_loss']:.4f} | "
                f"{row['error']:.4f} | {row['fit']:.1f} | {row['predict']:.2f} | {row['gib']:.1f} |"
            )
        for method in dict.fromkeys(row["method"] for row in some):
            of_it = sorted((row["examples"], row["fit"]) for row in some if row["method"] == method)
            steps = [np.log(t / s) / np.log(n / m) for (m, s), (n, t) in itertools.pairwise(of_it)]
            if steps:
                print(f"\n{method}: exponents of time", *(f"{step:.2f}" for step in steps))


def picture(out: Path, path: Path) -> None:
    """Draw log loss and seconds over the number of normal examples."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    rows = [row for row in read(out) if row["data"] == "normal"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    measured = {row["method"] for row in rows}
    for (name, label), marker in zip(LABELS.items(), "osD^v", strict=True):
        if name not in measured:
            continue
        of_it = sorted(
            (row["examples"], row["log_loss"], row["fit"]) for row in rows if row["method"] == name
        )
        m, loss, seconds = zip(*of_it, strict=True)
        kind = {"marker": marker, "lw": 2.5 if name == "ours" else 1.2, "label": label}
        left.plot(m, loss, **kind)
        right.plot(m, seconds, **kind)
    left.axhline(rows[0]["best"], color="0.4", ls="--", lw=1, label="true probabilities")
    left.set(xscale="log", xlabel="examples", ylabel="log loss, nats")
    right.set(xscale="log", yscale="log", xlabel="examples", ylabel="seconds of the fit")
    left.legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run every method at every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", nargs="+", default=("normal",), choices=SIZES)
    parser.add_argument("--sizes", type=int, nargs="+", help="default: those of the data")
    parser.add_argument("--methods", nargs="+", default=tuple(METHODS), choices=METHODS)
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--torch", metavar="PYTHON", help=f"runs the methods {', '.join(TORCH)}")
    parser.add_argument("--report", action="store_true", help="print the tables, measure nothing")
    parser.add_argument("--picture", type=Path, help="draw the rows of normal data into this file")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.data[0], options.methods[0], options.sizes[0], options.threads, options.out)
        return
    if not options.report:
        environment = os.environ | {"OMP_NUM_THREADS": str(options.threads)}
        for data in options.data:
            for m in options.sizes or SIZES[data]:
                for method in options.methods:
                    python = options.torch if method in TORCH else sys.executable
                    if python is None:
                        continue
                    command = [python, __file__, "--one", "--out", str(options.out)]
                    command += ["--threads", str(options.threads), "--sizes", str(m)]
                    command += ["--data", data, "--methods", method]
                    subprocess.run(command, check=True, env=environment)
    report(options.out)
    if options.picture is not None:
        picture(options.out, options.picture)


if __name__ == "__main__":
    main()
