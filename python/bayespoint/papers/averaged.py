"""Averages and votes of kernel perceptrons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.engine.problem import Problem
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.papers import compiled
from bayespoint.papers.compiled import PerceptronSettings
from bayespoint.papers.linear import KernelClassifier, LinearClassifier
from bayespoint.papers.perceptron import warn_of_mistakes
from bayespoint.papers.rollback import roll_back_on_error

__all__ = ["AveragedPerceptron", "VotedPerceptron"]


class AveragedPerceptron(LinearClassifier):
    """Average of kernel perceptrons that saw the examples in random orders.

    Their weight vectors are scaled to length 1. If all separate the examples, so does the average,
    which approximates the Bayes point (Herbrich, Graepel and Campbell, 1999, Section 7, after T.
    Watkin, "Optimal learning with a neural network", Europhysics Letters 21, 1993).

    Parameters
    ----------
    kernel, fit_intercept, softness, max_epochs, random_state
        As for :class:`bayespoint.papers.perceptron.KernelPerceptron`.
    n_perceptrons : int, default=100
        Number of perceptrons, at least 1.

    Attributes
    ----------
    classes_, dual_coef_, intercept_, norm_, support_, X_fit_, kernel_, n_features_in_
        As for :class:`bayespoint.papers.perceptron.KernelPerceptron`.
    separating_ : ndarray of shape (1,) or (n_classes,)
        Share of the perceptrons that separated the examples within `max_epochs` passes.

    Warns
    -----
    ConvergenceWarning
        If not all did.

    Examples
    --------
    >>> from bayespoint.papers.averaged import AveragedPerceptron
    >>> model = AveragedPerceptron("linear", random_state=0).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    by_distance = True

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        n_perceptrons: int = 100,
        fit_intercept: bool = True,
        softness: float = 0.0,
        max_epochs: int = 1000,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_perceptrons = n_perceptrons
        self.fit_intercept = fit_intercept
        self.softness = softness
        self.max_epochs = max_epochs
        self.random_state = random_state

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the perceptrons, and average them.

        Parameters
        ----------
        X, y
            As for :meth:`bayespoint.BayesPointClassifier.fit`, which raises the same errors.

        Returns
        -------
        AveragedPerceptron
            The estimator itself.
        """
        n = validation.integer("n_perceptrons", self.n_perceptrons, low=1)
        offset = float(validation.boolean("fit_intercept", self.fit_intercept))
        softness = validation.real("softness", self.softness, low=0.0)
        settings = PerceptronSettings(1.0, self.max_epochs)
        children = validation.generator(self.random_state).spawn(n)
        problems = self._problems(X, y, offset, softness)
        orders = [child.permutation(len(problems[0])) for child in children]
        means, self.separating_ = [], np.zeros(len(problems))
        for k, problem in enumerate(problems):
            found = [compiled.perceptron(problem, settings, order=order) for order in orders]
            coef = np.stack([one["dual_coef"] for one in found])
            means.append((coef / _lengths(coef, problem)[:, None]).mean(axis=0))
            self.separating_[k] = np.mean([one["converged"] for one in found])
        dual_coef = np.stack(means)
        self._keep(dual_coef, offset * dual_coef.sum(axis=1))
        self.norm_ = _lengths(dual_coef, problems[0])
        warn_of_mistakes(int((self.separating_ < 1).sum()), settings.max_epochs)
        return self


class VotedPerceptron(KernelClassifier):
    """Vote of all weight vectors that a kernel perceptron has in training.

    Each has one vote for every example that it was shown without a mistake (Y. Freund and R. E.
    Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37,
    1999). Decision values are the mean votes, -1 to 1.

    Parameters
    ----------
    kernel, fit_intercept, max_epochs
        As for :class:`bayespoint.papers.perceptron.KernelPerceptron`.

    Attributes
    ----------
    classes_, X_fit_, kernel_, n_features_in_
        As for :class:`bayespoint.papers.perceptron.KernelPerceptron`.
    mistakes_, votes_ : list of ndarray of shape (n_mistakes,)
        For each binary problem the examples on which mistakes were made, in order, and the votes of
        the weight vectors after them.

    Warns
    -----
    ConvergenceWarning
        If `max_epochs` passes were not enough.
    """

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        fit_intercept: bool = True,
        max_epochs: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.max_epochs = max_epochs

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the perceptron, and keep its votes.

        Parameters
        ----------
        X, y
            As for :meth:`bayespoint.BayesPointClassifier.fit`, which raises the same errors.

        Returns
        -------
        VotedPerceptron
            The estimator itself.
        """
        offset = float(validation.boolean("fit_intercept", self.fit_intercept))
        max_epochs = validation.integer("max_epochs", self.max_epochs, low=1)
        problems = self._problems(X, y, offset, 0.0)
        found = [_voters(problem, max_epochs) for problem in problems]
        self.mistakes_ = [np.array(mistakes, dtype=np.int64) for mistakes, _, _ in found]
        self.votes_ = [np.array(votes, dtype=np.float64) for _, votes, _ in found]
        warn_of_mistakes(sum(not converged for *_, converged in found), max_epochs)
        return self

    def _values(self, X: ArrayLike, *, by_distance: bool) -> Floats:
        """Return the (n, n_problems) mean votes."""
        check_is_fitted(self)
        inputs: Any = estimators_inputs.new(self, self.kernel_, X)
        if self.X_fit_ is not None:
            inputs = kernels.evaluate(self.kernel_, inputs, self.X_fit_)
        means = np.zeros((len(inputs), len(self._labels)))
        for k, (mistakes, votes) in enumerate(zip(self.mistakes_, self.votes_, strict=True)):
            f = np.zeros(len(inputs))
            for at, weight in zip(mistakes.tolist(), votes.tolist(), strict=True):
                f += self._labels[k, at] * (inputs[:, at] + self._offset)
                means[:, k] += weight * np.sign(f)
            means[:, k] /= max(1.0, votes.sum())
        return means


def _lengths(coef: Floats, problem: Problem) -> Floats:
    """Return the lengths of weight vectors with these coefficients; 1 for zero vectors."""
    values = coef @ problem.gram + coef * problem.softness
    values += problem.offset * coef.sum(axis=1)[:, None]
    squares = np.einsum("ij,ij->i", coef, values)
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def _voters(problem: Problem, max_epochs: int) -> tuple[list[int], list[int], bool]:
    """Return the mistakes, the votes of the weight vector after each, and whether they end."""
    y, m, start, left = problem.y, len(problem), 0, max_epochs * len(problem)
    f, gram = np.zeros(m), np.asarray(problem.gram)
    mistakes: list[int] = []
    votes: list[int] = []
    while True:
        wrong = np.flatnonzero(np.roll(y * f, -start) <= 0)
        votes.append(min(int(wrong[0]) if len(wrong) else m, left))
        left -= votes[-1] + 1
        if left < 0 or not len(wrong):
            return mistakes, votes[1:], not len(wrong)  # the first weight vector is 0
        at = (start + votes[-1]) % m
        mistakes.append(at)
        f += y[at] * (gram[at] + problem.offset)
        start = at + 1
