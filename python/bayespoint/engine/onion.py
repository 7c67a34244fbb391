"""What :class:`VersionSpace` tells of the layers around it, as a mixin of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import settings as engine_settings
from bayespoint.engine.settings import OnionSettings
from bayespoint.kernels import sources
from bayespoint.results.onion import LayerChoice, OnionTable

if TYPE_CHECKING:
    from typing_extensions import Self

_KEPT = 8
"""Pieces of path that the engine keeps apart, for each layer and trajectory."""


class OnionMixin:
    """The methods of a version space that peel it."""

    gram: sources.Gram
    y: Labels
    classes: NDArray[Any]
    softness: Floats
    offset: float

    @classmethod
    def _over(cls, gram: sources.Gram, y: Labels, *, softness: Floats, offset: float) -> Self:
        raise NotImplementedError

    def _refuse_conflicts(self) -> None:
        raise NotImplementedError

    def onion(
        self,
        max_errors: int | tuple[int, int] = (5, 5),
        *,
        method: str = "exact",
        tol: float = 0.1,
        volume_tol: float | None = None,
        max_length: float = 2e4,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> OnionTable:
        r"""Return the center of every layer of weight vectors with some training errors.

        Layer (a, b) holds the unit vectors that violate exactly a examples labeled -1 and b
        examples labeled +1. Version space is layer (0, 0), the peel of the onion around it
        are the others.

        Parameters
        ----------
        max_errors : int or pair of ints, default=(5, 5)
            Largest a and largest b, at least 0. Layers beyond the number of examples of a class
            are empty.
        method : {"exact", "projected"}, default="exact"
            "exact": a billiard whose walls let the ball through to the violated side, in such
            a way that it spends about the same path in every layer. Needs no feasible labels.
            "projected": the rays of a billiard in version space, each followed beyond the wall it
            hits through the layers behind (Ruján and Marchand). Cheap, but biased: it is uniform
            in version space alone, and tells no volumes.
        tol : float, default=0.1
            Standard error in radians that the center of every layer seen is to reach. Positive.
        volume_tol : float, default=None
            Standard error in nats that ln of the volume of every layer seen is to reach.
            Positive; None: whatever it is when the centers are good. Only with "exact".
        max_length : float, default=2e4
            Path in radians per trajectory at which to stop all the same. Positive. A first
            round is made in full, however long.
        n_trajectories : int, default=4
            Independent trajectories, at least 1.
        n_jobs : int, default=None
            Threads, as joblib counts them: None is 1, -1 all processors. It does not change the
            result.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.
        callback : callable, default=None
            Called about ten times a second, on the calling thread, with a mapping of ``length``
            (radians per trajectory), ``bounces`` and ``center_error`` (the largest of all
            layers) so far. What it raises ends the run.

        Returns
        -------
        OnionTable
            Centers with their errors, paths and volumes.

        Raises
        ------
        InfeasibleError
            With "projected", if version space is empty or no point of it was found.
        ValueError
            If a setting is out of range.
        TypeError
            If a setting is of the wrong type.
        FloatingPointError
            If double precision gives out, as for `sample`.
        MemoryError
            If there is no room for the layers, or with "exact" for a factor of the Gram matrix.

        Warns
        -----
        ConvergenceWarning
            If a layer's error is above `tol` or `volume_tol`, or a layer was never visited: it
            may be empty, or too small for the run.

        Notes
        -----
        Within a layer the law of a half-silvered billiard is uniform whatever the transparencies
        are. Here a ball passes from one layer to another with probability :math:`\min(1, W' /
        W)`, where W is 1 over the layer's volume, learned on the way. The integral of the position
        over the path in a layer is exact. The trajectories climb a ladder of transparencies up to
        fully transparent walls and down again between the stretches of path that are averaged.

        A layer that holds with every vector its opposite (half of the examples of either class)
        has no center.

        A bounce costs O(m + layers), with "projected" O(m) once more for the flight times to all
        planes.

        References
        ----------
        P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large
        Margin Classifiers, MIT Press, 2000, section 18.5.3.

        Examples
        --------
        Three orthogonal planes cut the sphere into octants. Violating the third example leads
        into the next one.

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(3), [1, 1, -1])
        >>> table = space.onion((1, 0), random_state=0)
        >>> bool(np.abs(table.center(0, 0) - [0.577, 0.577, -0.577]).max() < 0.1)
        True
        >>> bool(np.abs(table.center(1, 0) - [0.577, 0.577, 0.577]).max() < 0.1)
        True
        """
        settings = engine_settings.onion_settings(
            max_errors=max_errors,
            method=method,
            tol=tol,
            volume_tol=volume_tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
        )
        table = self._peel(settings, validation.seed(random_state), callback)
        for message in table.complaints(settings.tol, settings.volume_tol):
            warn(message, ConvergenceWarning)
        return table

    def choose_layer(
        self,
        max_errors: int | tuple[int, int] = (5, 5),
        *,
        k: int = 10,
        n_repeats: int | None = None,
        method: str = "exact",
        tol: float = 0.1,
        max_length: float = 2e4,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> LayerChoice:
        """Choose the layer whose center makes the fewest errors on examples left out.

        Each time k examples are left out, the onion of the others is made, and every layer's
        center is tested on the k.

        Parameters
        ----------
        max_errors : int or pair of ints, default=(5, 5)
            As for `onion`.
        k : int, default=10
            Examples left out at a time, at least 1 and fewer than m.
        n_repeats : int, default=None
            How often, at least 1. None is as often as leaves every example out once, but for
            the rest of m / k. Examples are left out in a random order, anew when all have been.
        method, tol, max_length, n_trajectories, n_jobs, random_state, callback
            As for `onion`, for each run.

        Returns
        -------
        LayerChoice
            The layer, and the mean errors of all of them. Only layers that had a center in every
            run are chosen from; of several equally good ones the one with the fewest training
            errors is chosen.

        Raises
        ------
        InfeasibleError
            With "projected", if the version space of a part of the examples is empty.
        ValueError
            If a setting is out of range, or no layer had a center in every run.
        TypeError
            If a setting is of the wrong type.
        FloatingPointError
            As for `onion`.
        MemoryError
            As for `onion`.

        Warns
        -----
        ConvergenceWarning
            If in a run the error of a layer's center is above `tol`. Layers that were not visited
            bring no warning: `LayerChoice.n_tests` tells them.

        Notes
        -----
        Ruján and Marchand report errors by this protocol, with k = 10. Softness goes with the
        examples.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> x = np.random.default_rng(0).standard_normal((30, 4))
        >>> space = VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1))
        >>> choice = space.choose_layer((1, 1), k=5, random_state=0)
        >>> choice.n_tests.tolist()
        [[30, 30], [30, 30]]
        >>> bool(choice.errors[choice.layer] == choice.errors.min())
        True
        """
        settings = engine_settings.onion_settings(
            max_errors=max_errors,
            method=method,
            tol=tol,
            volume_tol=None,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
        )
        m = len(self.y)
        k = validation.integer("k", k, low=1)
        if k >= m:
            raise ValueError(f"k must be less than the number of examples, {m}; got {k}")
        repeats = m // k
        if n_repeats is not None:
            repeats = validation.integer("n_repeats", n_repeats, low=1)
        self._require_factor(settings)
        if not isinstance(self.gram, sources.KernelRows):
            memory.require(
                float(self.gram.itemsize) * (m - k) ** 2, f"the Gram matrix of {m - k} examples"
            )
        rng = np.random.default_rng(validation.seed(random_state))
        shape = settings.max_errors[0] + 1, settings.max_errors[1] + 1
        memory.require(
            16.0 * shape[0] * shape[1], f"the onion with max_errors={settings.max_errors}"
        )
        wrong, tests = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        poor, worst = 0, 0.0
        order: NDArray[np.intp] = rng.permutation(m)
        for _ in range(repeats):
            if len(order) < k:
                order = rng.permutation(m)
            left_out, order = order[:k], order[k:]
            rest = np.setdiff1d(np.arange(m), left_out)
            part = self._over(
                sources.part(self.gram, rest),
                self.y[rest],
                softness=self.softness[rest],
                offset=self.offset,
            )
            table = part._peel(settings, validation.seed(rng), callback)
            between = sources.between(self.gram, left_out, rest)
            errors = table.test_errors(between, self.y[left_out])
            wrong += np.nan_to_num(errors)
            tests += np.where(np.isnan(errors), 0, k)
            known = table.center_error[table.has_center]
            if not (known <= settings.tol).all():
                poor += 1
                worst = max(worst, float(np.nan_to_num(known, nan=np.inf).max()))
        if poor:
            warn(
                f"in {poor} of {repeats} runs a layer has an estimated center_error above "
                f"tol={settings.tol:g}, up to {worst:.3g} radians: raise max_length",
                ConvergenceWarning,
            )
        with np.errstate(invalid="ignore"):
            mean = wrong / tests
        candidates = np.argwhere(tests == repeats * k)
        if len(candidates) == 0:
            raise ValueError(
                f"max_errors={settings.max_errors} must include a layer that has a center in all "
                f"{repeats} runs, to choose from; none has"
            )
        best = min(candidates.tolist(), key=lambda layer: (mean[tuple(layer)], sum(layer), layer))
        return LayerChoice((best[0], best[1]), mean, tests)

    def _require_factor(self, settings: OnionSettings) -> None:
        if settings.method == "exact":
            sources.require_matrix(self.gram, "the onion with method='exact'")

    def _peel(
        self,
        settings: OnionSettings,
        seed: int,
        callback: Callable[[Mapping[str, Any]], object] | None,
    ) -> OnionTable:
        """Return the onion, without a word on how good it is."""
        self._require_factor(settings)
        if settings.method == "projected":
            self._refuse_conflicts()
        m = len(self.y)
        positive = int((self.y > 0).sum())
        # More violated examples than there are of a class need no engine.
        most = (min(settings.max_errors[0], m - positive), min(settings.max_errors[1], positive))
        n_layers = (most[0] + 1) * (most[1] + 1)
        # A piece has its dual coefficients and their plane coordinates; one more is being made.
        pieces = 8.0 * settings.n_trajectories * n_layers * m * (2 * _KEPT + 1)
        rows, columns = (errors + 1 for errors in settings.max_errors)
        result = 2 * 8.0 * rows * columns * m
        factor = 2 * 8.0 * m * m if settings.method == "exact" else 0.0
        sources.require(
            self.gram,
            pieces + result + factor,
            f"the onion with max_errors={settings.max_errors}",
            [
                f"{memory.readable(pieces)} for n_trajectories={settings.n_trajectories} in "
                f"{n_layers} layers of {m} coefficients",
                f"{memory.readable(result)} for the table",
                f"{memory.readable(factor)} for a factor of the Gram matrix",
            ],
        )
        run = _core.onion(
            self.gram,
            self.y,
            offset=self.offset,
            softness=self.softness,
            max_errors=most,
            method=settings.method,
            tol=settings.tol,
            volume_tol=settings.volume_tol,
            max_length=settings.max_length,
            n_trajectories=settings.n_trajectories,
            n_threads=settings.n_threads,
            seed=seed,
            callback=callback,
        )
        centers = run["centers"]
        coordinates = sources.product(centers, self.gram)
        coordinates += self.offset * centers.sum(axis=-1, keepdims=True)
        coordinates += centers * self.softness
        return OnionTable.from_run(
            run,
            settings.max_errors,
            plane_coordinates=coordinates,
            y=self.y,
            classes=self.classes,
            offset=self.offset,
            method=settings.method,
        )
