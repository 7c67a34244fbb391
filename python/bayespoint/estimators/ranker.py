"""The estimator of utilities from preferences and choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, Indices, RandomState
from bayespoint.data import choices
from bayespoint.data.inputs import scaled
from bayespoint.estimators import inputs, reading, settings
from bayespoint.estimators.base import Estimator, of_posterior
from bayespoint.estimators.progress import Progress
from bayespoint.kernels import Differences


@dataclass(eq=False, repr=False)
class BayesPointRanker(Estimator):
    r"""Utilities of items from preferences and choices: Gaussian process preference learning.

    A latent function, the utility, was observed with noise: the preferred item, or the one chosen,
    had the largest. It is sampled as in :class:`BayesPointClassifier` (:ref:`preferences`).

    Parameters
    ----------
    kernel : None, str, kernel object or callable, default=None
        Kernel of the utility, as for :class:`BayesPointClassifier`; not "precomputed".
    softness : float or None, default=None
        Variance, at least 0, of Gaussian noise on a difference of two utilities, that of one being
        half of it. None: found. 0: preferences must not contradict each other.
    label_noise : float or None, default=0.0
        Probability in [0, 0.5) that a preference was turned round; None: found. Of k items each
        other is r = label_noise / (1 - label_noise) times as probable as the best to be chosen.
    categorical_features, standardize, n_models, n_components, n_trajectories, n_draws
        As there, with comparisons for examples.
    approximation : {"auto", "landmarks"} or None, default="auto"
        As there; landmarks are items.
    tol, max_iter, max_time, n_jobs, random_state, verbose
        As there.

    Attributes
    ----------
    posterior_ : Mixture
        The models of differences of utilities.
    kernel_, softness_, label_noise_
        Hyperparameters of the first model, the one of the largest weight.
    columns_, scaler_, seed_, n_features_in_, feature_names_in_
        As there.

    References
    ----------
    W. Chu and Z. Ghahramani, "Preference Learning with Gaussian Processes", ICML 2005.

    Examples
    --------
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> model = BayesPointRanker(random_state=0)  # row 2 is preferred to 0, 1 and 4, ...
    >>> model.fit(X, [[2, 0], [2, 1], [2, 4], [3, 4], [1, 0]]).predict(X).argmax()
    np.int64(2)
    """

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Draw from the posterior of the utility.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features)
            Items, compared or not; columns as for :class:`BayesPointClassifier`.
        y : array-like of shape (n_choices, k), k >= 2, or of shape (n_items,)
            Choices: the number of the preferred row of `X` before those of all others of its set;
            smaller sets are filled up with -1, or shorter lists. If `X` is a frame, strings are
            names in its index. `Blocks` or a collection of Dask may hold arrays or frames of such
            numbers, of one width; landmarks are used then. Or the relevance of each item: of any
            two in a group that differ, the more relevant one is preferred.
        groups : array-like of shape (n_items,), default=None
            With relevance, the group of each item, such as its query. None: all are of one.

        Returns
        -------
        BayesPointRanker
            The estimator itself.

        Raises
        ------
        InfeasibleError
            If `softness` and `label_noise` are 0 and preferences contradict each other.
        TypeError, ValueError
            If a setting is out of range, `X` is no table of items, or `y` has no choices, indices
            that are no whole numbers, out of range or twice in a row, or no relevance that differs.
        FloatingPointError, MemoryError, TimeoutError
            As in :class:`BayesPointClassifier`.
        """
        given, budget = settings.check(self, random_state=self.random_state)
        table, shared = reading.read_choices(self, X, y, groups, given, budget)
        report = Progress(self, given.verbose, 0)
        return self._publish(
            **table.seen,
            columns_=table.columns,
            posterior_=self._posterior(table, shared, budget, report, np.ones(2)),
            seed_=budget.choice_seed,
        )

    kernel_ = of_posterior("first.hyper.kernel.kernel", "Kernel of the utility, first model.")
    softness_ = of_posterior("first.hyper.softness", "Softness of the first model.")

    @property
    def label_noise_(self) -> float:
        """Label noise of the first model."""
        return self._first.hyper.label_noise[0]

    def _items(self, X: ArrayLike) -> Floats:
        features = inputs.features(self, self.kernel_, self.columns_, X)
        return scaled(getattr(self, "scaler_", None), features)

    def predict(self, X: ArrayLike, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the posterior mean of the utility.

        Only differences are observed: the mean of utilities under the prior is 0.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Items.
        return_std : bool, default=False
            Return the standard deviation, too.

        Returns
        -------
        ndarray of shape (n_items,), or two of them
            Means, and standard deviations, without noise.
        """
        return_std = validation.boolean("return_std", return_std)
        points = Differences.rows(self._items(X))
        moments = np.stack([model.moments(points) for model in self.posterior_.models])
        mean = self.posterior_.weights @ moments[:, 0]
        if not return_std:
            return mean
        variance = self.posterior_.weights @ (moments[:, 1] + (moments[:, 0] - mean) ** 2)
        return mean, np.sqrt(variance)

    def predict_proba(self, X: ArrayLike, pairs: ArrayLike) -> Floats:
        """Return the probability that the first item of each pair would be preferred.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Items.
        pairs : array-like of shape (n_pairs, 2)
            Rows of `X`, or names, as in `fit`; different ones in each pair.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Probabilities of observing this: softness and label noise are included. They are means
            over the draws of the exact probability given each; `probability_best` is without noise.
        """
        items = self._items(X)
        if np.ndim(pairs) != 2 or np.shape(pairs)[1] != 2:
            raise ValueError(f"pairs must have shape (n_pairs, 2); got shape {np.shape(pairs)}")
        chosen = choices.read(pairs, X, name="pairs")
        rows = Differences.rows(items[chosen[:, 0]], items[chosen[:, 1]])
        return self.posterior_.predict_proba(rows, method="mixture")[:, 1]

    def probability_best(self, X: ArrayLike) -> Floats:
        """Return the probability of each item to have the largest utility of all rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Items.

        Returns
        -------
        ndarray of shape (n_items,)
            Shares of the functions of `sample_functions`, without noise, of sum 1.
        """
        functions = self.sample_functions(X, random_state=self.random_state)
        return np.bincount(functions.argmax(axis=1), minlength=functions.shape[1]) / len(functions)

    def sample_functions(self, X: ArrayLike, *, random_state: RandomState = None) -> Floats:
        """Draw utilities from the posterior and evaluate them at items.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Items.
        random_state : None, int, Generator or RandomState, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_draws_total, n_items)
            A function for each draw, without noise, as
            :meth:`BayesPointClassifier.sample_functions`.
        """
        points = Differences.rows(self._items(X))
        return self.posterior_.sample_functions(points, noise=False, random_state=random_state)

    def suggest_query(self, X: ArrayLike) -> Indices:
        """Return the pair to be compared next, to find the best item.

        Its better item has the largest expected utility (qEUBO: R. Astudillo et al., "qEUBO: A
        Decision-Theoretic Acquisition Function for Preferential Bayesian Optimization", AISTATS
        2023), which is a mean over functions drawn with the estimator's `random_state`.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Candidates, at least two. Time is proportional to their third power.

        Returns
        -------
        ndarray of shape (2,)
            Different rows of `X`: each is the best partner of the other.
        """
        f = self.sample_functions(X, random_state=self.random_state).T
        if len(f) < 2:
            raise ValueError(f"X must hold two items or more to compare; got {len(f)}")
        one = other = f.mean(axis=1).argmax()
        best = -np.inf
        while True:
            values = np.maximum(f, f[other]).mean(axis=1)
            values[other] = -np.inf
            partner = values.argmax()
            if not values[partner] > best:
                return np.array([one, other])
            one, other, best = other, partner, values[partner]

    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Return the share of preferences that the mean utility has in order, ties counted half.

        Parameters
        ----------
        X, y, groups
            As for `fit`, in memory; of a choice out of a set each other item counts.

        Returns
        -------
        float
            Between 0 and 1; for relevance the concordance within groups.
        """
        mean = self.predict(X)
        rows = choices.read(y, X, groups)
        first, second, _ = choices.walls(rows)
        return float((1 + np.sign(mean[first] - mean[second])).mean() / 2)
