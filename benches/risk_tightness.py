"""How tight the risk bounds are: bound, true risk and the share of failures, as Markdown tables.

``python benches/risk_tightness.py`` where bayespoint is installed. A teacher in a few dimensions
labels Gaussian examples, so the true risk of a weight vector is its angle to the teacher over pi.
The second table asks how often the Bayes point has more of version space symmetric about it than
the maximal margin.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict

import numpy as np

from bayespoint import VersionSpace, bounds

RULES = ("bayes_point", "max_margin", "perceptron")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--problems", type=int, default=20, help="of each size; default: %(default)s"
    )
    parser.add_argument("--dimension", type=int, default=10, help="default: %(default)s")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[50, 100, 200, 500], help="default: %(default)s"
    )
    parser.add_argument("--delta", type=float, default=0.05, help="default: %(default)s")
    parser.add_argument(
        "--tol", type=float, default=0.5, help="of ln volumes; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    options = parser.parse_args()

    means: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    risks: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    failures: dict[tuple[str, ...], int] = defaultdict(int)
    volumes: dict[int, list[tuple[float, ...]]] = defaultdict(list)
    for m in options.sizes:
        values, truths = defaultdict(list), defaultdict(list)
        for k in range(options.problems):
            rng = np.random.default_rng([options.seed, m, k])
            found = problem(m, options, rng)
            for key, (value, truth) in found["rows"].items():
                values[key].append(value)
                truths[key].append(truth)
                failures[key] += truth > value
            volumes[m].append(found["volumes"])
        for key, row in values.items():
            means[key][m], risks[key][m] = float(np.mean(row)), float(np.mean(truths[key]))

    total = options.problems * len(options.sizes)
    print(
        f"{options.dimension} dimensions, {options.problems} problems of each size, delta = "
        f"{options.delta:g}: mean bound (true risk), in bold the smallest for each classifier\n"
    )
    sizes = [f"m = {m}" for m in options.sizes]
    print(f"| classifier | bound | region | {' | '.join(sizes)} | failures of {total} |")
    print(f"|---|---|---|{'---:|' * (len(sizes) + 1)}")
    least: dict[tuple[str, str, int], float] = defaultdict(lambda: math.inf)
    for (rule, _, of, _), row in means.items():
        for m, value in row.items():
            least[rule, of, m] = min(least[rule, of, m], value)
    for key in sorted(means, key=lambda key: (RULES.index(key[0]), key[2])):
        rule, name, of, region = key
        cells = []
        for m in options.sizes:
            text = f"{means[key][m]:.3g}"
            text = f"**{text}**" if means[key][m] == least[rule, of, m] else text
            cells.append(f"{text} ({risks[key][m]:.3f})")
        who = of if rule == "bayes_point" else rule.replace("_", " ")
        print(f"| {who} | {name} | {region} | {' | '.join(cells)} | {failures[key]} |")

    print(
        "\nln of the share of the sphere: version space, the part symmetric about the Bayes point"
    )
    print(
        "(cm) and about the maximal margin (mm), the largest ball; share of problems with cm > mm\n"
    )
    print("| m | version space | cm | mm | ball | cm > mm | cm - mm |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for m, rows in volumes.items():
        table = np.array(rows)
        whole, center, margin, ball = table.mean(axis=0)
        gain = table[:, 1] - table[:, 2]
        error = gain.std(ddof=1) / math.sqrt(len(gain)) if len(gain) > 1 else math.nan
        print(
            f"| {m} | {whole:.2f} | {center:.2f} | {margin:.2f} | {ball:.2f} | "
            f"{np.mean(gain > 0):.2f} | {gain.mean():.2f} ± {error:.2f} |"
        )


def problem(m: int, options: argparse.Namespace, rng: np.random.Generator) -> dict[str, object]:
    """Return bound and true risk of every row of one random problem, and four log volumes."""
    r = options.dimension
    x = rng.standard_normal((m, r))
    teacher = rng.standard_normal(r)
    y = np.where(x @ teacher > 0, 1, -1)
    gram = x @ x.T
    space = VersionSpace(gram, y)
    result = space.sample(tol=0.05, n_draws=100, random_state=rng)
    weights = {
        "bayes_point": result.center,
        "max_margin": space.max_margin(tol=1e-3).dual_coef,
        "perceptron": perceptron(gram, y),
    }
    tests = rng.standard_normal((20_000, r))
    truth = np.where(tests @ teacher > 0, 1, -1)
    votes = np.sign(tests @ (result.draws.reshape(-1, m) @ x).T)
    special = {
        "one draw": float((votes != truth[:, None]).mean()),
        "vote": float((votes.sum(axis=1) * truth <= 0).mean()),
    }
    rows, logs = {}, {}
    for rule, c in weights.items():
        w = c @ x
        angle = math.acos(float(w @ teacher / np.linalg.norm(w) / np.linalg.norm(teacher)))
        table = bounds.table(
            gram, y, c, rule=rule, delta=options.delta, tol=options.tol, random_state=rng
        )
        for row in table:
            if not row.refused:
                risk = special.get(row.of, angle / math.pi)
                rows[rule, row.name, row.of, row.region] = row.value, risk
                logs[rule, row.region] = row.quantities.get("log_volume", math.nan)
    return {
        "rows": rows,
        "volumes": (
            logs["bayes_point", "version space"],
            logs["bayes_point", "symmetric part"],
            logs["max_margin", "symmetric part"],
            logs["max_margin", "largest ball"],
        ),
    }


def perceptron(gram: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the dual coefficients of the perceptron, examples in order until none is wrong."""
    c, f, wrong = np.zeros(len(y)), np.zeros(len(y)), True
    while wrong:
        wrong = False
        for i in range(len(y)):
            if y[i] * f[i] <= 0:
                c[i] += y[i]
                f += y[i] * gram[i]
                wrong = True
    return c


if __name__ == "__main__":
    main()
