"""Version space: the unit weight vectors that satisfy all labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import memory, validation
from bayespoint.base.validation import Array, Floats, RandomState
from bayespoint.engine import InfeasibleError, interior, sampling
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import (
    EvidenceSettings,
    MarginSettings,
    SampleOptions,
    sample_settings,
)
from bayespoint.engine.walls import Walls
from bayespoint.kernels.gram import Gram
from bayespoint.labels import evidence
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.evidence import Evidence
from bayespoint.results.points import MaxMargin

__all__ = ["InfeasibleError", "VersionSpace"]


class VersionSpace:
    """Version space of labeled examples, given by their Gram matrix.

    A weight vector ``w = sum(c_i phi_i)`` in the span of the feature vectors ``phi_i`` has plane
    coordinates ``f_i = <w, phi_i>``. Version space is the set of unit vectors with ``y_i f_i > 0``
    for every example: a convex polytope on the sphere. Its center of mass is the Bayes point.

    With more than two classes a weight vector has a part ``w_c`` for each class, with dual
    coefficients of shape (n_classes, m), and an example is satisfied if its own class has the
    largest ``<w_c, phi_i>``: a wall stands between it and every other class.

    With `walls` in place of labels it is the set of vectors with ``sum_j(b_j f_j) >= 0`` for every
    wall: ordered classes, preferences, choices, or functions that rise (:doc:`/guide/ordered`).

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Kernel values between the examples: finite, symmetric, positive semidefinite with `offset`
        and `softness` added. Contiguous arrays of float64, and of float32 if exactly symmetric, are
        not copied: do not change them while a method runs. All arithmetic is in doubles.
    y : array-like of shape (m,), default=None
        Labels: -1 and +1, or two (the second positive) or more classes. None with `walls`.
    softness : float or array-like of shape (m,), default=0.0
        Added to the diagonal: variance of noise; positive ones make any labels feasible.
    offset : float, default=0.0
        Added to every kernel value, at least 0: 1 for an intercept, ``sum(c_i)``.
    walls : Walls, default=None
        Walls of the plane coordinates, whose covariance is the matrix with offset and softness. A
        row of zeros with a softness is an independent coordinate, such as a threshold.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes that -1 and +1 stand for, or 0, 1, ... of more than two; empty with walls.
    problem : Problem
        The checked arrays.

    Raises
    ------
    ValueError, TypeError
        If the matrix is not square, finite, symmetric, dense, real or positive semidefinite (tested
        beyond 2000 examples by about forty multiplications, which detect clear violations), a
        diagonal entry with offset and softness is not positive, or for labels of one class.

    Notes
    -----
    All methods that run the engine raise InfeasibleError if version space is empty or no point of
    it was found; FloatingPointError if double precision is not sufficient for an ill-conditioned
    Gram matrix (a softness helps); MemoryError; and ValueError or TypeError for a wrong setting.

    For more than two classes ValueError is raised for what two define: label noise by class.

    With walls dual coefficients are those of the coordinates, margins have a number for each wall,
    and ``hits`` counts bounces at all walls of a coordinate. Violations and transparency are by
    observation. ValueError is raised for `max_margin`, the kernel perceptron, conditional means
    behind transparent walls, and what two classes define. The evidence is that of all walls.

    References
    ----------
    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large Margin
    Classifiers, MIT Press, 2000.

    Examples
    --------
    Two orthogonal examples leave a quarter of a circle. Its center of mass is the diagonal.

    >>> space = VersionSpace([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> result = space.sample(length=2000.0, random_state=0)
    >>> bool(np.abs(result.center - [0.7071, -0.7071]).max() < 0.01)
    True
    """

    problem: Problem
    classes: Array

    def __init__(
        self,
        gram: ArrayLike,
        y: ArrayLike | None = None,
        *,
        softness: ArrayLike = 0.0,
        offset: float = 0.0,
        walls: Walls | None = None,
    ) -> None:
        matrix, exact = validation.gram_matrix(gram, keep_singles=True)
        m = len(matrix)
        memory.require_blas()
        labels, self.classes = np.zeros(m, dtype=np.int64), np.empty(0)
        if walls is None:
            if y is None:
                raise TypeError("y must be labels, unless there are walls; got None")
            labels, self.classes = validation.class_labels(y, m)
        elif not isinstance(walls, Walls) or y is not None:
            raise TypeError(f"walls must be Walls without y; got {walls!r} and y={y!r}")
        else:
            walls.require(m)
        soft = validation.softness(softness, m)
        constant = validation.real("offset", offset, low=0.0)
        validation.positive_semidefinite(matrix, constant, soft, exact=exact)
        n = len(self.classes) if len(self.classes) > 2 else 1
        self.problem = Problem(matrix, labels, soft, constant, n_functions=n, walls=walls)

    @classmethod
    def over(cls, problem: Problem) -> VersionSpace:
        """Return the version space of a problem, of the classes -1 and +1 or 0, 1, ..."""
        space = cls.__new__(cls)
        space.problem = problem
        space.classes = (
            np.arange(problem.n_functions) if problem.n_functions > 1 else np.array([-1, 1])
        )
        return space

    @property
    def gram(self) -> Gram:
        """(m, m) Kernel values without offset and softness."""
        return self.problem.gram

    @property
    def y(self) -> Array:
        """(m,) Labels as -1 and +1, int8; of more than two classes as 0, 1, ..., int64."""
        return self.problem.y

    @property
    def softness(self) -> Floats:
        """(m,) Softness of each example."""
        return self.problem.softness

    @property
    def offset(self) -> float:
        """Constant that is added to all kernel values."""
        return self.problem.offset

    def __repr__(self) -> str:
        if self.problem.walls is not None:
            return f"<VersionSpace: {len(self.problem.walls)} walls of {len(self.y)} coordinates>"
        if self.problem.n_functions > 1:
            return f"<VersionSpace: {len(self.y)} examples of {len(self.classes)} classes>"
        negative = int((self.y < 0).sum())
        return f"<VersionSpace: {negative} negative and {len(self.y) - negative} positive examples>"

    def margins(self, dual_coef: ArrayLike) -> Floats:
        """Return the margin ``y_i <w, phi_i>`` of every example.

        Parameters
        ----------
        dual_coef : array-like of shape (m,) or (..., m)
            Dual coefficients; with more than two classes of shape (..., n_classes, m).

        Returns
        -------
        ndarray of shape (m,) or (..., m)
            Positive if the vector satisfies the label; divided by the norm of w and the root of
            ``gram[i, i] + offset + softness[i]``, the distance to the plane. With more than two
            classes the lead over the next, ``<w_y, phi_i> - max(<w_c, phi_i>)``; divide by the root
            of twice the diagonal. With walls their values. Infinities raise ValueError.
        """
        c = validation.dual_coef("dual_coef", dual_coef, self.problem.shape, many=True)
        return self.problem.margins(c)

    def contains(self, dual_coef: ArrayLike) -> bool:
        """Return whether a weight vector satisfies all labels.

        Parameters
        ----------
        dual_coef : array-like of shape (m,), with more than two classes (n_classes, m)
            Dual coefficients of the vector, which need not have unit length.

        Returns
        -------
        bool
            False also for a vector that lies in the plane of an example.
        """
        c = validation.dual_coef("dual_coef", dual_coef, self.problem.shape)
        return bool((self.problem.margins(c) > 0).all())

    def sample(
        self,
        *,
        tol: float | None = None,
        length: float | None = None,
        max_time: float | None = None,
        n_trajectories: int = 4,
        n_draws: int = 100,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
        options: SampleOptions | None = None,
    ) -> BilliardResult:
        """Run the billiard in version space.

        A ball moves along great circles and is reflected at the planes. Its path fills version
        space uniformly: its mean is the center of mass, points at equal spacing correlated draws.

        Parameters
        ----------
        tol : float, default=None
            Estimated angular error of the center at which to stop, in radians, positive; 0.1 if no
            limit is given. The run also goes on until the draws are worth 100 independent ones, or
            half of fewer than 200, or a quarter of more than 400; and until R-hat is at most 1.05,
            or what so few independent draws exceed by chance, 1.1 for 100.
        length : float, default=None
            Path length at which to stop, in radians per trajectory, at least 1e-6.
        max_time : float, default=None
            Seconds after which to stop, positive. The result then depends on the machine.
        n_trajectories, n_draws : int, default=4 and 100
            Number of independent trajectories, and of draws to keep of each.
        n_jobs : int, default=None
            Number of threads, as in joblib: None is 1, -1 all. The bits are the same for any.
        random_state : None, int, Generator or RandomState, default=None
            Seed, left out in a continued run. None draws one from NumPy's global generator.
        callback : callable, default=None
            Called about ten times a second, in the calling thread, with a mapping of the current
            ``length``, ``bounces`` and ``center_error``. An exception from it ends the run.
        options : SampleOptions, default=None
            Other settings, such as transparent walls. None: their defaults.

        Returns
        -------
        BilliardResult
            Centers, draws and diagnostics.

        Raises
        ------
        InfeasibleError, FloatingPointError, MemoryError, ValueError
            See the notes of the class. ValueError also if the start is outside version space, the
            run to continue is of another problem or settings, or damaged.
        TimeoutError
            If `max_time` was over before a starting point was found.

        Warns
        -----
        ConvergenceWarning
            If another limit ended the run before `tol`, R-hat or the effective sample size were
            reached; or if rounding has moved the walls.
        """
        if options is None:
            options = SampleOptions()
        elif not isinstance(options, SampleOptions):
            raise TypeError(f"options must be a SampleOptions or None; got {options!r}")
        settings = sample_settings(
            options,
            n_trajectories=n_trajectories,
            n_draws=n_draws,
            length=length,
            tol=tol,
            max_time=max_time,
        )
        return sampling.sample(
            self.problem,
            settings,
            seed=random_state,
            start=options.start,
            callback=callback,
            continue_from=options.continue_from,
            n_jobs=n_jobs,
        )

    def feasible_point(
        self,
        method: str = "light_trap",
        *,
        random_state: RandomState = None,
        callback: Callback = None,
    ) -> Floats:
        """Return a unit vector in version space.

        Parameters
        ----------
        method : {"light_trap", "max_margin"}, default="light_trap"
            "light_trap": a billiard from a random point, with walls that always let the ball in,
            and out with a probability that decreases from 1 to 0. If it fails, ConvergenceWarning
            is issued, and "max_margin" used, the search for the maximal margin until no example is
            violated.
        random_state, callback
            As for `sample`.

        Returns
        -------
        ndarray of shape (m,), with more than two classes (n_classes, m)
            Dual coefficients.

        Raises
        ------
        InfeasibleError, FloatingPointError
            See the notes of the class.
        """
        return interior.feasible_point(self.problem, method, seed=random_state, callback=callback)

    def max_margin(
        self,
        *,
        tol: float = 1e-8,
        max_iter: int = 10_000_000,
        callback: Callback = None,
    ) -> MaxMargin:
        r"""Return the unit vector w with the largest ``min_i y_i <w, phi_i>``, exactly.

        By dual coordinate ascent and then an active-set method (D. Goldfarb and A. Idnani,
        Mathematical Programming 27, 1983).

        Parameters
        ----------
        tol : float, default=1e-8
            Largest violation of the optimality conditions, in units of the margin, in (0, 1), apart
            from the rounding of the multipliers. ConvergenceWarning is issued if it is not reached.
        max_iter : int, default=10000000
            Largest number of coordinate steps and changes of the active set, at least 1.
        callback : callable, default=None
            As for `sample`.

        Returns
        -------
        MaxMargin
            Dual coefficients, the margin, and the remaining violations. With more than two classes
            the margin of Crammer and Singer: the largest ``min(<w_y, phi_i> - <w_c, phi_i>)``.

        Raises
        ------
        InfeasibleError
            If version space is empty, or was not reached in `max_iter` steps. Its `certificate` has
            weights :math:`a \ge 0` for which :math:`\sum_i a_i y_i \phi_i` is close to zero.
        ValueError
            If a setting is out of range, or if feature vectors whose lengths differ by 1e4 or more
            make rounding exceed the margin.

        Examples
        --------
        >>> print(f"{VersionSpace(np.eye(2), [1, -1]).max_margin().margin:.3f}")
        0.707
        """
        return interior.max_margin(self.problem, MarginSettings(tol, max_iter), callback)

    def evidence(
        self,
        label_noise: float | tuple[float, float] | Sequence[float] | Floats = 0.0,
        *,
        tol: float = 0.1,
        max_length: float = 1e5,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
    ) -> Evidence:
        r"""Return the log evidence: the log probability of the labels under the prior.

        Without label noise it is ln of the volume of version space as a share of the sphere's, with
        `softness` that of Gaussian-process classification with probit noise.

        Parameters
        ----------
        label_noise : float, tuple of two floats, or array-like of shape (n,), default=0.0
            Probability in [0, 0.5) that a label was flipped, of several classes to any other alike;
            with walls that an observation is wrong, one rate if some always hold. A tuple has those
            of truly negative and truly positive examples, a list or array several, on one ladder.
        tol : float, default=0.1
            Standard error of each value at which to stop, in nats; ConvergenceWarning if larger.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop after a complete round, positive.
        n_trajectories, n_jobs, random_state, callback
            As for `sample`; the mapping has ``length`` and ``error`` (nats).

        Returns
        -------
        Evidence
            The value in nats, at most 0, with its standard error: floats, or arrays for n rates.

        Raises
        ------
        InfeasibleError
            If all values are minus infinity, which is possible only with a rate of 0: no point of
            version space was found. ``violations`` is the smallest number of violations seen. Among
            other rates such a value has an infinite error, or 0 if two examples are in conflict.
        ValueError
            If a rate or a setting is out of range.
        FloatingPointError, MemoryError
            See the class. A bridge takes about :math:`1.5 \sqrt m` times the memory of the matrix.

        Notes
        -----
        :doc:`/theory` has both ways. For two classes or walls and a rate of 0, a bridge keeps the
        walls: seven to thirty distributions lead from a Gaussian one, fitted to version space, to
        the isotropic one (Cousins and Vempala, 2015).

        Of other posteriors it might miss modes: with label noise, several rates or several classes,
        billiards on a ladder of transparencies give
        :math:`Z(\kappa) = E[\kappa^{\text{violations}}]` over the sphere. For a rate
        :math:`\epsilon` of two classes the value is
        :math:`m \ln(1 - \epsilon) + \ln Z(\epsilon / (1 - \epsilon))`.

        Both combine their samples by MBAR (Shirts and Chodera, 2008). Where version space is too
        narrow for a bridge, ``label_noise=[0, 0.4]`` takes the ladder.

        Examples
        --------
        Ten orthogonal planes cut the sphere into 1024 equal pieces:

        >>> found = VersionSpace(np.eye(10), np.ones(10)).evidence(random_state=0)
        >>> bool(abs(found.value + 10 * np.log(2)) < 4 * found.error < 0.4)
        True
        """
        settings = EvidenceSettings(tol, max_length, n_trajectories)
        return evidence.evidence(
            self.problem,
            label_noise,
            settings,
            n_jobs=n_jobs,
            seed=random_state,
            callback=callback,
        )
