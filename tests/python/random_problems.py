"""Random problems with given hyperparameters, in cells: kind of labels, basis, size of softness."""

import math
from dataclasses import dataclass

import numpy as np

from bayespoint import kernels

KINDS = ("two", "several", "ordered", "pairs", "sets")
BASES = ("all", "update", "landmarks", "fewer")  # landmarks at all examples, or half as many
SOFTNESS = {"small": (-6, -2), "large": (-2, 2)}  # powers of 10
CELLS = [
    f"{kind}/{basis}/{size}"
    for kind in KINDS
    for basis in BASES
    for size in SOFTNESS
    if basis != "update" or kind not in ("pairs", "sets")
]
MOST = 60  # examples; walls of several classes

N_NEW = 2  # new points, the last of `X`
KERNELS = (
    (kernels.RBF(1.0), lambda a, b: np.exp(-((a[:, None] - b) ** 2).sum(axis=2) / 2)),
    (kernels.Linear(), lambda a, b: a @ b.T),
    (kernels.Polynomial(2, 0.5), lambda a, b: (a @ b.T + 0.5) ** 2),
)


@dataclass(frozen=True, eq=False)
class Problem:
    """Labeled examples, or choices of items, with hyperparameters."""

    cell: str
    seed: int
    X: np.ndarray  # (n, 2) examples or items, new ones last
    label: np.ndarray  # (m,) indices of classes, or (m, k) choices, the chosen item first
    kernel: tuple  # the package's and the plain one
    softness: float
    noise: tuple  # rates of wrong labels, by true class
    offset: float
    weight: np.ndarray  # (m,) relative weights
    known: int  # examples before an update, else all
    out: int  # the observation that is left out
    row: int  # the class whose function and probabilities are compared

    @property
    def kind(self):
        return self.cell.split("/")[0]

    @property
    def basis(self):
        return self.cell.split("/")[1]

    @property
    def has_landmarks(self):
        return self.basis in ("landmarks", "fewer")

    @property
    def is_ranking(self):
        return self.label.ndim > 1

    @property
    def n_classes(self):
        return 2 if self.is_ranking else int(self.label.max()) + 1

    @property
    def noise_variance(self):
        """(m,) Variance of the noise on the value of each example."""
        return self.softness * self.weight.mean() / self.weight

    @property
    def places(self):
        """Where functions are compared: at an example, and at a new point."""
        return [0, len(self.X) - 1]

    @property
    def pairs(self):
        """Pairs of items that are predicted."""
        return [[len(self.X) - 1, len(self.X) - 2], [0, len(self.X) - 1]]

    @property
    def seen(self):
        """(C, C) Probability of observing each class, for each true one a row."""
        rates = np.resize(self.noise, self.n_classes)[:, None]
        return np.where(np.eye(self.n_classes) > 0, 1 - rates, rates / (self.n_classes - 1))

    def __str__(self):
        return (
            f"{self.cell} {self.seed}: {self.n_classes} classes, {len(self.label)} examples, "
            f"{self.kernel[0]!r}, softness {self.softness:.2g}, noise {np.round(self.noise, 3)}, "
            f"offset {self.offset:g}, weights {np.round(np.unique(self.weight)[:4], 2)}"
        )


def draw(cell, seed, most=MOST):
    """Return a random problem of a cell, with at most so many examples if it can be."""
    kind, basis, size = cell.split("/")
    rng = np.random.default_rng([CELLS.index(cell), seed])
    ranking, updated = kind in ("pairs", "sets"), basis == "update"
    n_classes = {"several": rng.integers(3, 6), "ordered": rng.integers(3, 7)}.get(kind, 2)
    least = 1 if ranking else n_classes + updated
    least += cell.startswith("pairs/all")  # of a single pair there is an error
    most = max(least, min(most, MOST // (n_classes - 1) if kind == "several" else most))
    m = round(math.exp(rng.uniform(math.log(least), math.log(most))))
    softness, kernel = 10 ** rng.uniform(*SOFTNESS[size]), KERNELS[rng.choice(3, p=[0.6, 0.2, 0.2])]
    noise = tuple(rng.uniform(0, 0.4, 2) if rng.random() < 0.7 else np.zeros(2))
    if kind != "two" or rng.random() < 0.5:
        noise = noise[:1] * 2
    offset = float(not ranking and rng.random() < 0.5)
    n = max(4, m // 2) if ranking else m
    X = rng.standard_normal((n + N_NEW, 2))
    if rng.random() < 0.3:  # copies
        X[n // 2 : n] = X[rng.integers(max(1, n // 2), size=n - n // 2)]
    covariance = kernel[1](X, X) + offset + 1e-9 * np.eye(len(X))
    f = (np.linalg.cholesky(covariance) @ rng.standard_normal((len(X), n_classes)))[:n]
    wrong, weight = rng.random(m) < max(noise), np.ones(m)
    outlier = rng.random() < 0.25  # the clearest label is wrong
    if ranking:
        label, lead = _choices(kind, basis, f[:, 0], m, softness, rng)
        wrong[lead.argmax()] |= outlier
        label[wrong, :2] = label[wrong, 1::-1]
    else:
        u = f + math.sqrt(softness) * rng.standard_normal(f.shape)
        label, lead = u.argmax(axis=1), u.max(axis=1)
        if kind != "several":
            ends = [0.0] if kind == "two" else np.sort(rng.choice(u[:, 0], n_classes - 1))
            label, lead = np.digitize(u[:, 0], ends), np.abs(u[:, 0])
        wrong[lead.argmax()] |= outlier
        label[wrong] = (label[wrong] + rng.integers(1, n_classes, wrong.sum())) % n_classes
        order = rng.permutation(m)  # each class occurs, before an update
        label, X[:n] = label[order], X[order]
        label[:n_classes] = np.arange(n_classes)
        if not updated and (choice := rng.random()) < 0.4:
            weight = rng.uniform(0.3, 2.0, m) if choice < 0.2 else rng.integers(1.0, 4.0, m)
    return Problem(
        cell=cell,
        seed=seed,
        X=X,
        label=label,
        kernel=kernel,
        softness=softness,
        noise=noise,
        offset=offset,
        weight=weight,
        known=int(rng.integers(n_classes, m)) if updated else m,
        out=int(rng.integers(m)),
        row=int(rng.integers(n_classes)),
    )


def _choices(kind, basis, f, m, softness, rng):
    """Return m choices of items of utilities f, filled up with -1, and the leads of the chosen."""
    width = 2 if kind == "pairs" else int(rng.integers(3, 5))
    rows, leads = np.full((m, width), -1), np.empty(m)
    for i in range(m):
        # What few landmarks miss of items depends on what fills up a smaller set.
        k = width if basis == "fewer" or i == 0 else rng.integers(2, width + 1)
        items = rng.choice(len(f), k, replace=False)
        utility = f[items] + math.sqrt(softness / 2) * rng.standard_normal(k)
        rows[i, :k] = items[np.argsort(-utility)]
        leads[i] = np.ptp(utility)
    return rows, leads
