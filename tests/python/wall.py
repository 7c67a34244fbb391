"""A wall of random problems: what the package says of posteriors, beside plain NumPy.

    python tests/python/wall.py --problems 400 --seed 5 [--cell two/landmarks]

Hyperparameters are given. A problem is fitted with a few seeds and compared with sequential Monte
Carlo (`plain_posterior`) at a few quantities. A difference of means, over the standard error of the
seeds and the reference, has Student's t distribution if the law is right; z is the normal quantile
of the same probability. So the root mean square of z over the problems of a cell is 1 up to chance.
The evidence is compared by its own error, and so is the center: there z is the root mean square of
its true angle over the one stated. What a run warned about is in a row of its own, with
leave-one-out probabilities whose stated error is large.
"""

import argparse
import math
import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special, stats
from sklearn.exceptions import ConvergenceWarning

import plain_posterior
from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, BayesPointRanker
from random_problems import CELLS, MOST, N_NEW, Problem, draw

SEEDS = 5
NEXT = 1_000_000  # between the seed of a problem and that of one in its place
MOST_STEPS = 3000  # of a chain over landmarks: if it needs more there is a warning
JITTER = 1e-6  # of the landmarks' matrix, relative to the mean of its diagonal
FEW = 1000  # vectors of a run that give probabilities of several classes
FLOOR = 3e-4  # difference of probabilities, and of functions in deviations, that is let pass
FLOOR_OF_EVIDENCE = 0.01
LARGE = 0.5  # error of the log odds of a label left out above which it counts as warned about
TINY = 1e-12
CHANCE, SLACK = 1e-7, 1.1  # of a false alarm of one quantity of a cell, and spread let pass
QUANTITIES = ("mean", "square", "mixture", "moments", "left out", "evidence", "center")


# --- the reference -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """The quantities of a problem, with standard errors."""

    names: np.ndarray
    value: np.ndarray
    error: np.ndarray
    evidence: tuple  # value and error
    center: np.ndarray  # unit vector of the mean function, in whitened coordinates
    center_error: float


@dataclass(frozen=True)
class Latent:
    """The normal vector of a problem.

    Each function has noisy values of observations and of predictions, values at places, and
    coordinates that are independent. Thresholds of ordered classes come last.
    """

    problem: Problem
    landmarks: np.ndarray | None

    @cached_property
    def mixing(self):
        """(n_values, n) Factors of a function's values at items in those of the vector."""
        problem, eye = self.problem, np.eye(len(self.problem.X))
        if problem.is_ranking:
            observed = eye[problem.label[problem.label >= 0]]
            predicted = np.stack([eye[a] - eye[b] for a, b in problem.pairs])
        else:
            observed, predicted = eye[: len(problem.label)], eye[-N_NEW:]
        if problem.kind == "pairs":
            observed = observed[::2] - observed[1::2]
        return np.concatenate([observed, predicted, eye[problem.places]])

    @property
    def n_observed(self):
        return len(self.mixing) - N_NEW - len(self.problem.places)

    @cached_property
    def group(self):
        """The observation of each value."""
        if self.problem.kind == "sets":
            return np.nonzero(self.problem.label >= 0)[0]
        return np.arange(self.n_observed)

    @cached_property
    def parts(self):
        """Covariance of values, of coordinates with them, and the factor of coordinates.

        Variance that landmarks miss is noise, of a choice out of a set that of its items' mean.
        """
        problem, mixing, n = self.problem, self.mixing, self.n_observed
        kernel, offset = problem.kernel[1], problem.offset
        values = mixing @ (kernel(problem.X, problem.X) + offset) @ mixing.T
        noise = np.full(len(values), problem.softness)
        noise[:n] = problem.softness / 2
        if problem.kind != "sets":
            noise[:n] = problem.noise_variance
        noise[n + N_NEW :] = 0.0
        if self.landmarks is None:
            values += np.diag(noise)
            root = np.linalg.cholesky(values[:n, :n])
            return values, np.linalg.solve(root, values[:n]), root
        own = kernel(self.landmarks, self.landmarks)
        root = np.linalg.cholesky(own + offset + JITTER * own.trace() / len(own) * np.eye(len(own)))
        across = kernel(self.landmarks, problem.X) + offset
        features = np.linalg.solve(root, across) @ mixing.T
        missed = values.diagonal() - (features**2).sum(axis=0)
        if problem.kind == "sets":
            missed[:n] = (np.bincount(self.group, missed[:n]) / np.bincount(self.group))[self.group]
        return features.T @ features + np.diag(noise + missed), features, root

    @property
    def n_functions(self):
        return self.problem.n_classes if self.problem.kind == "several" else 1

    @property
    def size(self):
        """Number of values and coordinates of a function."""
        return len(self.parts[0]) + len(self.parts[1])

    @cached_property
    def joint(self):
        values, across, _ = self.parts
        function = np.block([[values, across.T], [across, np.eye(len(across))]])
        functions = np.kron(np.eye(self.n_functions), function)
        problem = self.problem
        if problem.kind != "ordered":
            return functions
        # Thresholds have the mean variance of the noisy values of the first fit.
        first = np.arange(problem.known)
        own = problem.kernel[1](problem.X[first], problem.X[first]).diagonal() + problem.offset
        variance = (own + problem.noise_variance[first]).mean()
        k = problem.n_classes - 1
        zero = np.zeros((len(functions), k))
        return np.block([[functions, zero], [zero.T, variance * np.eye(k)]])

    def rows(self, place):
        """Return the (n_rows, d) rows whose values tell the label of a place."""
        eye = np.eye(len(self.joint))
        if self.n_functions > 1:
            values = eye[place + self.size * np.arange(self.n_functions)]
            return values - values.mean(axis=0)
        return eye[[place]] - eye[self.size :] if self.problem.kind == "ordered" else eye[[place]]

    def contrasts(self, i):
        """Return the rows that are positive where the label of an observation is right."""
        problem, values = self.problem, np.flatnonzero(self.group == i)
        rows = self.rows(values[0])
        if problem.is_ranking:
            return np.concatenate([rows - self.rows(p) for p in values[1:]] or [rows])
        y = problem.label[i]
        if problem.kind == "several":
            return np.delete(rows[y] - rows, y, axis=0)
        if problem.kind == "ordered":
            return np.concatenate([rows[:y][-1:], -rows[y : y + 1]])
        return rows if y else -rows

    def law(self, order):
        """Return the law of the observations in an order."""
        problem, seen = self.problem, self.problem.seen
        parts = [self.contrasts(i) for i in order]
        if problem.is_ranking:  # another item is so much less probable than the best
            odds, sizes = seen[0, 1] / seen[0, 0], np.bincount(self.group)[order]
            right = 1 / (1 + odds * (np.maximum(sizes, 2) - 1))
            floor = odds * right
        else:
            y = problem.label[order]
            right, floor = seen[y, y], seen[y - 1, y]
        if problem.kind == "ordered":  # thresholds rise
            eye = np.eye(len(self.joint))[self.size :]
            parts.insert(0, eye[1:] - eye[:-1])
            right, floor = np.append(1.0, right), np.append(0.0, floor)
        group = np.arange(len(parts)).repeat([len(rows) for rows in parts])
        return plain_posterior.Law(self.joint, np.concatenate(parts), group, right, floor)

    def probabilities(self, law, drawn, place):
        """Return the mean probability of observing the class `row` at a place, and its error."""
        problem, (factors, variance) = self.problem, law.given(self.rows(place))
        if problem.kind == "several":
            drawn = drawn.thinned(FEW)
            variance = variance / (1 - 1 / problem.n_classes)  # of a value, not less the mean
            p = plain_posterior.largest(drawn.rows(factors / np.sqrt(variance)))
        else:
            above = special.ndtr(drawn.rows(factors / np.sqrt(variance)))
            ends = np.ones((*above.shape[:2], 1))
            p = -np.diff(np.concatenate([ends, above, 0 * ends], axis=2), axis=2)
        return drawn.estimate(drawn.means(p @ problem.seen[:, [problem.row]]))


def reference(problem, landmarks, rng):
    """Return the quantities of a problem; None if it is too hard."""
    latent, row = Latent(problem, landmarks), problem.row
    order = rng.permutation(latent.group.max() + 1)
    order = np.append(order[order != problem.out], problem.out)
    law = latent.law(order)
    drawn = plain_posterior.accurate(law, rng)
    if drawn is None:
        return None
    predicted, places = np.split(np.arange(latent.n_observed, len(latent.mixing)), [N_NEW])
    one = row if problem.kind == "several" else 0
    functions = [latent.rows(p)[one] for p in places]
    parts = [(["mean"] * 2 + ["square"] * 2, *_moments(law, drawn, functions))]
    parts += [(["mixture"], *latent.probabilities(law, drawn, p)) for p in predicted]
    if problem.kind == "two":

        def of_moments(moments):
            mean, square = np.split(moments, 2, axis=-1)
            p = special.ndtr(mean / np.sqrt(square - mean**2))
            return np.stack([1 - p, p], axis=-1) @ problem.seen[:, row]

        rows = [latent.rows(p)[0] for p in predicted]
        parts.append((["moments"] * 2, *_moments(law, drawn, rows, of_moments)))
    if not problem.is_ranking:
        rest = law.without_last()
        others = plain_posterior.accurate(rest, rng)
        if others is None:
            return None
        parts.append((["left out"], *latent.probabilities(rest, others, problem.out)))
    coordinates = np.arange(len(latent.parts[0]), latent.size)
    coordinates = coordinates + latent.size * np.arange(latent.n_functions)[:, None]
    center, center_error = drawn.estimate(
        drawn.coordinates @ law.given(np.eye(len(latent.joint))[coordinates.ravel()])[0],
        lambda mean: mean / np.linalg.norm(mean, axis=-1, keepdims=True),
    )
    log_z, error = drawn.evidence
    if problem.kind == "ordered":  # one order of the thresholds is possible
        log_z += math.lgamma(problem.n_classes)
    quantities = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Reference(*quantities, (log_z, error), center, float(np.linalg.norm(center_error)))


def _moments(law, drawn, rows, of=lambda moments: moments):
    """Return a function of the means and then the mean squares of rows, and its error."""
    factors, variance = law.given(np.stack(rows))
    mean = drawn.rows(factors)
    return drawn.estimate(drawn.means(np.concatenate([mean, mean**2 + variance], axis=2)), of)


# --- the package ---------------------------------------------------------------------------------


def fitted(problem, seed):
    """Return the estimator fitted to a problem."""
    X = problem.X[:-N_NEW]
    given = {
        "kernel": problem.kernel[0],
        "softness": problem.softness,
        "label_noise": problem.noise if problem.kind == "two" else problem.noise[0],
        "standardize": False,
        "approximation": None,
        "n_models": 1,
        "tol": 0.05,
        "random_state": seed,
    }
    if problem.has_landmarks:
        n = len(np.unique(X, axis=0))
        n = n if problem.basis == "landmarks" else max(1, n // 2)
        given |= {"approximation": "landmarks", "tol": 0.5, "max_iter": MOST_STEPS}
        given["n_components"] = n
    if problem.is_ranking:
        return BayesPointRanker(**given).fit(X, problem.label)
    kind = BayesPointOrdinalClassifier if problem.kind == "ordered" else BayesPointClassifier
    model = kind(**given, calibration=None, fit_intercept=problem.offset > 0)
    n = problem.known
    model.fit(X[:n], problem.label[:n], None if (problem.weight == 1).all() else problem.weight)
    return model.update(X[n:], problem.label[n:]) if problem.basis == "update" else model


def stated(problem, model):
    """Return what a fitted model says of the quantities of a `Reference`.

    Also the error it states of the log odds of the label that is left out.
    """
    X, row, new = problem.X, problem.row, problem.X[-N_NEW:]
    noise = {} if problem.is_ranking else {"noise": False}
    f = model.sample_functions(X[problem.places], **noise, random_state=model.random_state)
    f = f[row if problem.kind == "several" else 0] if f.ndim > 2 else f
    parts = [f.mean(axis=0), (f**2).mean(axis=0)]
    if problem.is_ranking:
        p = model.predict_proba(X, problem.pairs)
        return np.concatenate([*parts, p if row else 1 - p]), 0.0
    parts.append(model.predict_proba(new, method="mixture")[:, row])
    if problem.kind == "two":
        parts.append(model.predict_proba(new)[:, row])
    if problem.has_landmarks:
        one = [problem.out]
        weight = problem.weight[one] / problem.weight.mean()
        left, error = model.leave_one_out(X[one], problem.label[one], weight, return_error=True)
    else:
        left, error = (x[[problem.out]] for x in model.leave_one_out(return_error=True))
    own = left[0, problem.label[problem.out]]
    return np.concatenate([*parts, left[:, row]]), error[0] / max(own * (1 - own), TINY)


def landmarks_of(problem, model):
    """Return the landmarks, sorted, and the place of each; or None, and those of the examples."""
    points = model.posterior_.first.basis.points[:, : problem.X.shape[1]]
    if not problem.has_landmarks:
        return None, np.arange(len(points))
    order = np.lexsort(points.T)
    return points[order], order


def center_of(problem, model):
    """Return the unit center in the whitened coordinates of a `Reference`, and the stated angle."""
    landmarks, order = landmarks_of(problem, model)
    _, _, root = Latent(problem, landmarks).parts
    center = (np.atleast_2d(model.posterior_.dual_coef)[:, order] @ root).ravel()
    run, length = model.posterior_.first.draws.run, np.linalg.norm(center)
    error = run.center_error
    if problem.has_landmarks:  # relative to a fourth of the draws' length, if that is more
        whitened = run.draws[..., order] @ root
        of_draws = np.linalg.norm(whitened) / math.sqrt(math.prod(run.draws.shape[:2]))
        error *= max(1.0, of_draws / (4 * length))
    return center / length, error


# --- comparison ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deviation:
    """The z of one quantity of a problem."""

    problem: Problem
    quantity: str
    z: float
    text: str  # what was stated, and what is right
    warned: bool = False


def compare(cell, seed, wrong=lambda problem: problem):
    """Return the deviations of a problem of a cell; `wrong` changes that of the reference.

    If the reference is too hard it is a smaller problem, and if that is none, the next one.
    """
    for most in MOST // 2 ** np.arange(8):
        problem = draw(cell, seed, most)
        found = _compare(problem, wrong, np.random.default_rng([seed, 1]))
        if found is not None:
            return found
    return compare(cell, seed + NEXT, wrong)


def _compare(problem, wrong, rng):
    models, references, caught = [], {}, []
    for k in range(SEEDS):
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            model = fitted(problem, 1000 * problem.seed + k)
        caught += [each for each in messages if issubclass(each.category, ConvergenceWarning)]
        landmarks, _ = landmarks_of(problem, model)
        key = b"" if landmarks is None else landmarks.tobytes()
        if key not in references:  # seeds may choose other landmarks
            references[key] = reference(wrong(problem), landmarks, rng)
            if references[key] is None:
                return None
        models.append((model, references[key]))
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        evidence = models[0][0].evidence(tol=0.2, max_length=2000, random_state=problem.seed)
    ours, errors = (np.array(x) for x in zip(*(stated(problem, m) for m, _ in models), strict=True))
    found = _of_means(problem, ours, models, shared=len(references) == 1)
    found.append(_of_evidence(problem, evidence, models[0][1].evidence))
    # Those of ordered classes and choices out of sets have more coordinates.
    if problem.kind not in ("ordered", "sets") and np.isfinite(models[0][1].center).all():
        found.append(_of_center(problem, models))
    more = {"evidence": messages, "left out": errors.max() > LARGE}
    return [replace(one, warned=bool(caught or more.get(one.quantity))) for one in found]


def _of_means(problem, ours, models, *, shared):
    right, error = (np.stack([getattr(r, name) for _, r in models]) for name in ("value", "error"))
    names = models[0][1].names
    prior = problem.kernel[1](problem.X, problem.X).diagonal()[problem.places] + problem.offset
    floor = np.full(len(names), FLOOR)
    floor[names == "mean"] *= np.sqrt(prior)
    floor[names == "square"] *= prior
    # The errors of several references are in the spread of the differences.
    z = normal(ours - right, np.hypot(shared * error[0], floor))
    error_of_ours = ours.std(axis=0, ddof=1) / math.sqrt(SEEDS)
    figures = zip(ours.mean(axis=0), error_of_ours, right.mean(axis=0), error[0], strict=True)
    texts = [_text(*each) for each in figures]
    return [Deviation(problem, *each) for each in zip(names, z, texts, strict=True)]


def normal(apart, error):
    """Return z of (n, ...) differences to a value with a standard error, of `RUNS` runs."""
    n, runs = len(apart), plain_posterior.RUNS
    variance, more = apart.var(axis=0, ddof=1) / n, error**2
    total = variance + more
    freedom = total**2 / (variance**2 / (n - 1) + more**2 / (runs - 1))
    t = apart.mean(axis=0) / np.sqrt(total)
    return np.copysign(special.ndtri(special.stdtr(freedom, -np.abs(t))), t)


def _of_evidence(problem, evidence, right):
    z = (evidence.value - right[0]) / math.hypot(evidence.error, right[1], FLOOR_OF_EVIDENCE)
    return Deviation(problem, "evidence", z, _text(evidence.value, evidence.error, *right))


def _of_center(problem, models):
    squares = []
    for model, right in models:
        center, error = center_of(problem, model)
        away = center - right.center
        squares.append(away @ away / (error**2 + right.center_error**2))
    text = f"error stated {error:.2g}, of the reference {right.center_error:.2g}"
    return Deviation(problem, "center", math.sqrt(np.mean(squares)), text)


def _text(value, error, right, error_of_right):
    return f"{value:.4g} ± {error:.2g}, right {right:.4g} ± {error_of_right:.2g}"


def problems(cells, n, seed, wrong=lambda problem: problem, report=lambda some: None):
    """Return the deviations of n random problems, of the cells in turn."""
    found = []
    for k in range(n):
        found += (some := compare(cells[k % len(cells)], 1000 * seed + k // len(cells), wrong))
        report(some)
    return found


def table(deviations):
    """Return the lines of a table: of each cell and quantity the rms z and the largest."""
    cells = defaultdict(list)
    for each in deviations:
        cells[CELLS.index(each.problem.cell), each.warned].append(each)
    lines = [f"{'cell':26} {'n':>4} " + " ".join(f"{name:>11}" for name in QUANTITIES)]
    for (cell, warned), some in sorted(cells.items()):
        entries = []
        for name in QUANTITIES:
            z = np.array([each.z for each in some if each.quantity == name])
            figures = f"{np.sqrt((z**2).mean()):5.2f}/{np.abs(z).max():5.1f}" if len(z) else ""
            entries.append(f"{figures:>11}")
        n = len({each.problem.seed for each in some})
        lines.append(f"{CELLS[cell] + ' warned' * warned:26} {n:4} " + " ".join(entries))
    return lines


def excesses(deviations):
    """Return the quantities of cells, and of all cells, whose z are too large to be by chance.

    A sum of squares has a chance of `CHANCE` if z are normal, and a spread of `SLACK` that they are
    not quite is let pass. What was warned about is not judged.
    """
    squares = defaultdict(lambda: defaultdict(list))
    for each in deviations:
        if not each.warned:
            for cell in ("all cells", each.problem.cell):
                squares[cell, each.quantity][each.problem].append(each.z**2)
    found = []
    for (cell, quantity), by_problem in squares.items():
        # A mean of dependent squares is no likelier to be large than a single one.
        total, n = sum(np.mean(z) for z in by_problem.values()), len(by_problem)
        if total > SLACK**2 * stats.chi2.isf(CHANCE, n):
            found.append(f"{cell}, {quantity}: rms z {math.sqrt(total / n):.2f} of {n} problems")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cell", default="", help="part of the names of cells")
    parser.add_argument("--above", type=float, default=4.0, help="|z| that is printed")
    given = parser.parse_args()

    def report(deviations):
        for each in deviations:
            if abs(each.z) > given.above:
                warned = " (warned)" * each.warned
                print(f"{each.problem}: {each.quantity} z {each.z:.1f}, {each.text}{warned}")

    cells = [cell for cell in CELLS if given.cell in cell]
    found = problems(cells, given.problems, given.seed, report=report)
    print("\n".join([*table(found), "Not by chance:", *(excesses(found) or ["nothing"])]))


if __name__ == "__main__":
    main()
