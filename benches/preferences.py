"""Twenty questions: regret of the best item found by asking which of two is preferred.

``python benches/preferences.py --seeds 20`` prints, for smooth random utilities of 2 and 5
features, the mean regret of the item of the largest mean utility among 400, after 10 and 20
answers, the share of all pairs that mean utilities then have in order, and the seconds of all fits
and questions together. Utilities have variance 1 over the items; the difference that decides an
answer has noise of standard deviation 0.2. The first four questions are random, the same ones for
all. With ``--methods botorch botorch_random`` it asks as
BoTorch does, whose environment needs nothing of this package: the pair of largest expected utility
of the best option under a `PairwiseGP`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

ITEMS, FIRST, QUESTIONS, NOISE = 400, 4, 20, 0.2
LENGTH = {2: 0.25, 5: 0.6}
"""Length scale of the utilities by the number of features, in units of their range."""


def problem(d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return items, and their utilities: a function of a Gaussian process."""
    rng = np.random.default_rng([d, seed])
    X = rng.random((ITEMS, d))
    waves, phases = rng.standard_normal((d, 2000)) / LENGTH[d], rng.uniform(0, 2 * np.pi, 2000)
    u = np.cos(X @ waves + phases) @ rng.standard_normal(2000)
    return X, (u - u.mean()) / u.std()


def ours(X: np.ndarray, y: list[list[int]], rng: np.random.Generator, method: str) -> Any:
    """Return mean utilities and the next pair by this package."""
    from bayespoint import BayesPointRanker

    model = BayesPointRanker(random_state=int(rng.integers(2**31))).fit(X, y)
    if method == "random":
        return model.predict(X), rng.choice(len(X), 2, replace=False)
    return model.predict(X), model.suggest_query(X)


def botorch(X: np.ndarray, y: list[list[int]], rng: np.random.Generator, method: str) -> Any:
    """Return mean utilities and the next pair by BoTorch, found as `suggest_query` does."""
    import torch
    from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(int(rng.integers(2**31)))
    used, places = np.unique(np.array(y), return_inverse=True)
    points = torch.tensor(X)
    model = PairwiseGP(points[used], torch.tensor(places.reshape(-1, 2)))
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        mean = model.posterior(points).mean[:, 0].numpy()
        if method == "botorch_random":
            return mean, rng.choice(len(X), 2, replace=False)
        gain = AnalyticExpectedUtilityOfBestOption(pref_model=model)
        pair, best = [int(mean.argmax())] * 2, -np.inf
        while True:
            other = points[pair[1]].expand_as(points)
            values = gain(torch.stack([points, other], dim=1)).numpy()
            values[pair[1]] = -np.inf
            first = int(values.argmax())
            if not values[first] > best:
                return mean, np.array(pair)
            pair, best = [pair[1], first], float(values[first])


def ask(d: int, seed: int, method: str) -> list[float]:
    """Return the regrets after 10 and all answers, the share of pairs in order, and the seconds."""
    X, u = problem(d, seed)
    rng, answers = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    pair, y, regrets, seconds = [0, 1], list[list[int]](), list[float](), 0.0
    find = botorch if "botorch" in method else ours
    first = [rng.choice(len(X), 2, replace=False) for _ in range(FIRST)]
    for k in range(QUESTIONS):
        a, b = map(int, first[k] if k < FIRST else pair)
        turned = u[a] - u[b] + NOISE * answers.standard_normal() < 0
        y.append([b, a] if turned else [a, b])
        if k + 1 >= FIRST:
            began = time.perf_counter()
            mean, pair = find(X, y, rng, method)
            seconds += time.perf_counter() - began
            regrets.append(float(u.max() - u[int(mean.argmax())]))
    right = np.sign(mean[:, None] - mean) == np.sign(u[:, None] - u)
    return [regrets[10 - FIRST], regrets[-1], (right.sum() - ITEMS) / (ITEMS**2 - ITEMS), seconds]


def main() -> None:
    """Print the regrets of each method, their means and standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--features", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--methods", nargs="+", default=["asked", "random"])
    args = parser.parse_args()
    for d in args.features:
        for method in args.methods:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = np.array([ask(d, seed, method) for seed in range(args.seeds)])
            error = found.std(axis=0) / np.sqrt(args.seeds)
            shown = [f"{a:.3f} +- {b:.3f}" for a, b in zip(found.mean(axis=0), error, strict=True)]
            print(f"{d} features, {method:15} {', '.join(shown[:3])}, {found[:, 3].mean():.1f} s")


if __name__ == "__main__":
    main()
