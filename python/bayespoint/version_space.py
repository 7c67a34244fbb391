"""Version space: the unit weight vectors that give every example its label."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import validation
from bayespoint.base.report import as_html
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.engine import InfeasibleError, evidence, interior, onion, sampling
from bayespoint.engine.continuation import EVERY
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings, with_settings
from bayespoint.kernels import rows_on_demand
from bayespoint.posterior.reweight import reweight
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.evidence import Evidence
from bayespoint.results.onion import LayerChoice, OnionTable
from bayespoint.results.points import MaxMargin
from bayespoint.results.weighted import WeightedResult

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["InfeasibleError", "VersionSpace"]

Callback = Callable[[Mapping[str, Any]], object] | None


class VersionSpace:
    """Version space of labeled examples, given by their Gram matrix.

    A weight vector ``w = sum(c_i phi_i)`` in the span of the feature vectors ``phi_i`` has plane
    coordinates ``f_i = <w, phi_i>``. Version space is the set of unit vectors with
    ``y_i f_i > 0`` for every example: a convex polytope on the sphere. Its center of mass is the
    Bayes point (Herbrich, Graepel and Campbell, 2001).

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Kernel values between the examples: finite, symmetric, positive semidefinite with
        `offset` and `softness` added. Doubles and singles in C or Fortran order are borrowed,
        never copied or written to: do not change them while a method runs. Singles (float32) take
        half the memory; all arithmetic is in doubles. Singles that are not symmetric to the last
        bit are copied, anything else is converted to doubles.
    y : array-like of shape (m,)
        Labels: -1 and +1, or two classes of any type that sorts: the first in sorted order is
        negative, the second positive.
    softness : float or array-like of shape (m,), default=0.0
        Added to the diagonal, at least 0: the variance of a Gaussian noise in front of each
        label. Positive values make any labels feasible.
    offset : float, default=0.0
        Added to every kernel value, at least 0. With 1 each feature vector has one more
        coordinate, 1: the intercept, ``sum(c_i)``.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        What -1 and +1 stand for.
    problem : Problem
        The checked arrays.

    Raises
    ------
    ValueError
        If the Gram matrix is not square, finite, symmetric or positive semidefinite, if an
        example's plane has no direction (its diagonal entry with offset and softness is not
        positive), or if the labels are neither -1 and +1 nor of two classes.
    TypeError
        For sparse, masked, complex or object arrays.

    See Also
    --------
    from_features : Without the matrix, from inputs and a kernel.
    BayesPointClassifier : Fit and predict from inputs and a kernel.

    Notes
    -----
    Positive semidefiniteness is decided by a factorization up to 2000 examples. Beyond that
    about forty multiplications with the matrix may prove that it is violated.

    All methods that run the engine raise FloatingPointError if double precision gives out: the
    Gram matrix is too ill-conditioned, or has a small negative eigenvalue; a softness helps. They
    raise MemoryError if there is no room for what they need, InfeasibleError if version space
    is empty or no point of it was found, and ValueError or TypeError for a wrong setting.

    References
    ----------
    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large
    Margin Classifiers, MIT Press, 2000.

    Examples
    --------
    Two orthogonal examples leave a quarter of a circle. Its center of mass is the diagonal.

    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> space = VersionSpace(np.eye(2), [1, -1])
    >>> result = space.sample(length=2000.0, random_state=0)
    >>> bool(np.abs(result.center - [0.7071, -0.7071]).max() < 0.01)
    True
    >>> space.contains(result.center)
    True
    """

    problem: Problem
    classes: NDArray[Any]

    def __init__(
        self, gram: ArrayLike, y: ArrayLike, *, softness: ArrayLike = 0.0, offset: float = 0.0
    ) -> None:
        matrix, exact = validation.gram_of_its_kind(gram)
        self._set(matrix, y, softness, offset, "gram")
        validation.positive_semidefinite(matrix, self.offset, self.softness, exact=exact)

    def _set(
        self, gram: rows_on_demand.Gram, y: ArrayLike, softness: ArrayLike, offset: float, name: str
    ) -> None:
        """Check all but the kernel values; errors call the matrix by that name."""
        labels, self.classes = validation.binary_labels(y, len(gram), rows=name)
        soft = validation.softness(softness, len(gram))
        constant = validation.real("offset", offset, low=0.0)
        validation.positive_diagonal(gram, constant, soft, name=name)
        self.problem = Problem(gram, labels, soft, constant)

    @classmethod
    def over(cls, problem: Problem) -> Self:
        """Return the version space of a problem whose arrays have been checked already.

        Parameters
        ----------
        problem : Problem
            The arrays.

        Returns
        -------
        VersionSpace
            With -1 and +1 for its classes.
        """
        space = cls.__new__(cls)
        space.problem, space.classes = problem, np.array([-1, 1])
        return space

    @classmethod
    def from_features(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        kernel: object = "linear",
        *,
        softness: ArrayLike = 0.0,
        offset: float = 0.0,
        cache_size: float = 200.0,
    ) -> Self:
        """Return the version space of inputs and a kernel, without ever forming the Gram matrix.

        Its rows are computed when the billiard asks for them, from a copy of the inputs, and those
        used last are kept, shared by all trajectories. With kernel="linear" `X` may hold explicit
        features of any kernel, as scikit-learn's ``Nystroem`` makes them.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            Inputs, finite. Doubles in C order are borrowed: do not change them while a method runs.
        y : array-like of shape (m,)
            Labels, as for the constructor.
        kernel : {"linear", "rbf", "poly"} or kernel object, default="linear"
            "rbf" has the length scale ``sqrt(n_features Var(X) / 2)``, "poly" degree 3 and coef0 1.
            Or ``Linear``, ``RBF`` or ``Polynomial`` of :mod:`bayespoint.kernels`, or a positive
            multiple of one.
        softness, offset
            As for the constructor.
        cache_size : float, default=200.0
            Room for rows, in MB of 2**20 bytes: at least two rows of m doubles. It changes the
            time a run takes, not its result.

        Returns
        -------
        VersionSpace
            Its `gram` is a ``KernelRows``.

        Raises
        ------
        ValueError
            If the inputs are not finite or of another shape, the kernel is none of these, there is
            no room for two rows, or as the constructor for labels, softness and offset.
        TypeError
            For sparse, masked, complex or object arrays.
        MemoryError
            If there is no room for the cache and a copy of the inputs.

        Notes
        -----
        A bounce at a row that is kept costs what it costs with a matrix; another one
        O(m n_features). With the linear kernel, 1000 examples or more and at least 8 for each
        feature, a neighbor list of walls that the ball may reach soon spares most of the reads.
        What needs a factor of the matrix is refused: refresh="full", `Scattered` dynamics,
        `log_volume`, `evidence`, and the exact `onion`.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> from bayespoint.kernels import RBF
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> y = np.sign(X[:, 0])
        >>> space = VersionSpace.from_features(X, y, RBF(2.0), softness=0.1, cache_size=1.0)
        >>> center = space.sample(tol=0.1, random_state=0).center
        >>> VersionSpace(RBF(2.0)(X), y, softness=0.1).contains(center)
        True
        """
        space = cls.__new__(cls)
        rows = rows_on_demand.kernel_rows(X, kernel, cache_size)
        space._set(rows, y, softness, offset, "kernel(X, X)")
        return space

    @property
    def gram(self) -> rows_on_demand.Gram:
        """(m, m) Kernel values, without offset and softness, or the ``KernelRows`` of inputs."""
        return self.problem.gram

    @property
    def y(self) -> Labels:
        """(m,) Labels as -1 and +1, int8."""
        return self.problem.y

    @property
    def softness(self) -> Floats:
        """(m,) Softness of each example."""
        return self.problem.softness

    @property
    def offset(self) -> float:
        """Offset of all kernel values."""
        return self.problem.offset

    def __repr__(self) -> str:
        negative = int((self.y < 0).sum())
        return f"<VersionSpace: {negative} negative and {len(self.y) - negative} positive examples>"

    def _repr_html_(self) -> str:
        negative = int((self.y < 0).sum())
        low, high = self.softness.min(), self.softness.max()
        rows = [
            ("negative examples", f"{negative} ({self.classes[0]})"),
            ("positive examples", f"{len(self.y) - negative} ({self.classes[1]})"),
            ("softness", f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"),
            ("offset", f"{self.offset:.4g}"),
        ]
        return as_html("Version space", rows)

    def margins(self, dual_coef: ArrayLike) -> Floats:
        """Return the margin ``y_i <w, phi_i>`` of every example.

        Parameters
        ----------
        dual_coef : array-like of shape (m,) or (..., m)
            Dual coefficients of one weight vector or of several.

        Returns
        -------
        ndarray of the same shape
            Positive where the vector gives the example its label. Divide by the square root of
            ``gram[i, i] + offset + softness[i]`` and by the norm of w for distances to planes.

        Raises
        ------
        ValueError
            If the coefficients are not finite, or so large that margins overflow.
        """
        c = validation.dual_coef("dual_coef", dual_coef, len(self.y), many=True)
        return self.problem.margins(c)

    def contains(self, dual_coef: ArrayLike) -> bool:
        """Return whether a weight vector gives every example its label.

        Parameters
        ----------
        dual_coef : array-like of shape (m,)
            Dual coefficients of the vector, of any length but zero.

        Returns
        -------
        bool
            False also for a vector that lies in the plane of an example.

        Raises
        ------
        ValueError
            As `margins`.
        """
        c = validation.dual_coef("dual_coef", dual_coef, len(self.y))
        return bool((self.problem.margins(c) > 0).all())

    @with_settings
    def sample(
        self,
        *,
        start: ArrayLike | None = None,
        continue_from: BilliardResult | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
        **settings: Any,
    ) -> BilliardResult:
        r"""Run the billiard in version space.

        A ball flies along great circles and is reflected at the planes. Its path fills version
        space uniformly: the mean position is the center of mass, and points at equal spacing
        along the path are (correlated) draws from the uniform law.

        Parameters
        ----------
        n_trajectories : int, default=4
            Independent trajectories.
        n_draws : int, default=100
            Draws to keep of each trajectory.
        length : float, default=None
            Path length at which to stop, in radians per trajectory, at least 1e-6.
        tol : float, default=None
            Estimated angular error of the center at which to stop, in radians, once the halves of
            all trajectories agree as far as their pieces let expect. It is 0.1 if no end of the
            run is given.
        max_bounces : int, default=None
            Arrivals at walls, reflected or not, of one trajectory; the first to get there ends the
            run. With `tol` alone it is 10 000 000. The run ends at whichever limit is met first.
        dynamics : object of :mod:`bayespoint.dynamics`, default="geodesic"
            ``Geodesic()``: great circles with exact reflections. ``Scattered(...)``: with
            scattering at the walls or off a sphere. ``Chord(...)`` and ``Flipper(...)``: the
            biased straight flights of the papers. A name stands for the object with its defaults.
        transparency : float or pair of floats, default=0.0
            Probability in [0, 1] that a plane lets the ball through to its violated side; a pair
            is for examples labeled -1 and for those labeled +1. Then the law is uniform times
            the product of the transparencies of all violated planes: the posterior under label
            noise of rate :math:`\epsilon` at :math:`\epsilon / (1 - \epsilon)`.
        refresh : {"auto", "pair", "full", None}, default="auto"
            How directions change in mid-air, without which a billiard can be caught in part of
            version space. "pair": reflections in the plane of two examples, at two rows of the
            Gram matrix each. They hardly turn what few planes close, as the many directions in
            which the feature vectors of a smooth kernel are thin. "full": an independent
            direction, for a factor of the Gram matrix. "auto": "full" where that factor takes no
            more than half a second (up to 2400 examples in any number of dimensions), else "pair".
        refresh_rate : float or "auto", default="auto"
            Changes per radian, positive, at most 1e9, with "pair" or "full". "auto" is 0.1 to 0.3
            with full ones, and a twentieth of the bounces (1.5 times as many as bounces with
            softness or nearly orthogonal planes) with pairs.
        average : {"auto", "arc", "impulse", "conditional", "midpoints", "bounces"}, default="auto"
            Which estimate `center` holds. "arc": the integral over the path. "impulse": the
            accumulated impulses on the walls, zero for examples that do not bound version space,
            and less accurate. "conditional": the integral of conditional means, with far less
            noise (see Notes), for a factor of a Gram matrix far from singular. "midpoints" (the
            default of "chord" and "flipper") and "bounces" ("flipper" only) are those of the
            papers. "auto" is "conditional" where softness is positive for all examples, the matrix
            is one of doubles (or of up to 2000 examples in singles) and far from singular, and
            `refresh` is "auto" or "full"; else "arc".
        start : array-like of shape (m,), default=None
            Dual coefficients of the point all trajectories start from. Behind opaque walls it
            must lie in version space. None looks for one.
        continue_from : BilliardResult, default=None
            A run on this version space to go on with. `length`, `tol` and `max_bounces` are the new
            ends of the whole; the other settings are those of the run, and left out here. To a
            smaller `tol` the result is, bit by bit, that of one run with it.
        checkpoint : str or path-like, default=None
            A file to keep the run in. If it is there, the run goes on from it and comes out with
            the bits of one that was never interrupted. It must be of the same problem and the same
            settings. It is written in one step, and only one run may write to it.
        every : float, default=60.0
            Seconds between two states in the `checkpoint`, at least 0.
        n_jobs : int, default=None
            Threads, as joblib counts them: None is 1, -1 all processors. It does not change the
            result: the same seed gives the same bits on one machine.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None draws one from NumPy's global generator. With `continue_from` it must be
            left out: the seed is that of the earlier run.
        callback : callable, default=None
            Called about ten times a second, on the calling thread, with a mapping of ``length``,
            ``bounces`` and ``center_error`` so far. What it raises ends the run.

        Returns
        -------
        BilliardResult
            Centers, draws and diagnostics.

        Raises
        ------
        InfeasibleError
            If version space is empty, or no point of it was found.
        ValueError
            If a setting is out of range or does not go with the `dynamics`, or `start` is outside
            version space. If `continue_from` or the `checkpoint` is of another problem or has
            other settings, or the file is damaged: it is never overwritten then.
        OSError
            If no file can be made in the folder of the `checkpoint`, or it cannot be read.
        FloatingPointError
            If double precision gives out on the way.
        MemoryError
            If there is no room for the draws, or for what else the run takes.

        Warns
        -----
        RuntimeWarning
            If the `checkpoint` could not be written, as on a full disk: the run goes on.
        ConvergenceWarning
            If the `tol` was not met, or in a run that `tol` did not end, if R-hat is high or there
            are few effective draws. If double precision moved the walls, or a trajectory goes
            round a short cycle. The guide on diagnostics says what to do.

        Notes
        -----
        With average="conditional" the center is that of conditional means. Given all other plane
        coordinates, that of one example is a normal variable cut off at its wall, whose mean is
        known at every point of the path; what is known need not be sampled. On kernel matrices
        with softness this takes a tenth of the bounces and less for the same tolerance.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(3), [1, 1, -1])
        >>> result = space.sample(length=200.0, n_draws=50, random_state=1)
        >>> result.draws.shape
        (4, 50, 3)
        >>> bool((space.margins(result.draws) > 0).all())
        True
        """
        return sampling.sample(
            self.problem,
            SampleSettings(**settings),
            seed=random_state,
            start=start,
            callback=callback,
            continue_from=continue_from,
            checkpoint=checkpoint,
            every=every,
            n_jobs=n_jobs,
        )

    def reweight(
        self, result: BilliardResult, weight: Callable[[Floats], ArrayLike], *, log: bool = False
    ) -> WeightedResult:
        r"""Return the center of mass of a density on version space, from a run's draws.

        Parameters
        ----------
        result : BilliardResult
            A run of `sample` in this version space.
        weight : callable
            The density, up to a factor, relative to the law of the run (uniform behind opaque
            walls): called once with the margins :math:`y_i \langle w, \phi_i \rangle` of all
            draws, unit vectors, as an array of shape (n, m), it returns n weights, finite and at
            least 0, not all of them 0.
        log : bool, default=False
            `weight` returns natural logarithms of the weights instead, -inf for 0: products over
            many examples do not underflow.

        Returns
        -------
        WeightedResult
            The center, the weights and how much they are worth.

        Raises
        ------
        TypeError
            If `result` is no `BilliardResult`, `weight` cannot be called, or it returns anything
            but real numbers.
        ValueError
            If `result` is of another number of examples, or if the weights have the wrong shape,
            are negative, infinite or NaN, or all zero, or balance to a mean without direction.

        Warns
        -----
        ConvergenceWarning
            If the effective sample size of the weights is below 50, or below half of the draws.

        Notes
        -----
        Ruján and Marchand (2000, Section 18.2) average the points of the trajectory with weights
        in proportion to the posterior. The weights estimate a ratio of two means, whose bias falls
        with the number of draws while they are not too uneven: that is what `ess` tells.

        Examples
        --------
        Weights by the power of the first margin draw the center away from its plane:

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(2), [1, -1])
        >>> run = space.sample(length=2000.0, n_draws=500, random_state=0)
        >>> found = space.reweight(run, lambda margins: margins[:, 0] ** 3)
        >>> found.center.round(1)
        array([ 0.9, -0.4])
        """
        return reweight(result, weight, self.margins, self.y, log=log)

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
        method : {"light_trap", "one_way", "perceptron", "max_margin"}, default="light_trap"
            "light_trap": a billiard whose walls become mirrors that let the ball in but not out.
            "one_way": with such mirrors from the first. "perceptron": the
            kernel perceptron, on for as long as an example is violated. "max_margin": the search
            for the largest margin, up to where every example is satisfied (`max_margin` goes on
            from there).
        random_state, callback
            As for `sample`.

        Returns
        -------
        ndarray of shape (m,)
            Dual coefficients.

        Raises
        ------
        InfeasibleError
            If there is none, or none was found.
        FloatingPointError
            If double precision gives out for the ball of a light trap.

        Warns
        -----
        ConvergenceWarning
            If a light trap did not catch the ball, and the search for the largest margin took over.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(2), ["no", "yes"])
        >>> space.contains(space.feasible_point("perceptron", random_state=0))
        True
        """
        problem = self.problem
        return interior.feasible_point(problem, method, seed=random_state, callback=callback)

    def max_margin(
        self,
        *,
        C: float = math.inf,
        free_bias: bool = False,
        tol: float = 1e-8,
        max_iter: int = 10_000_000,
        callback: Callback = None,
    ) -> MaxMargin:
        r"""Return the weight vector with the largest ``min_i y_i <w, phi_i>``, hard or soft.

        Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, 1 - y_i(\langle w, \phi_i\rangle + b))`,
        where C = inf stands for no loss at all.

        Parameters
        ----------
        C : float, default=inf
            Price of a unit of hinge loss, positive: the largest multiplier. inf: a hard margin.
        free_bias : bool, default=False
            Add a bias b to ``<w, phi_i>`` that has no price. Both labels must occur.
        tol : float, default=1e-8
            Largest violation of the conditions for the optimum, in units of the margin, in
            (0, 1). What rounding of the multipliers explains is no violation.
        max_iter : int, default=10000000
            Coordinate steps and changes of the active set at most, at least 1. Each reads rows
            of the Gram matrix.
        callback : callable, default=None
            As for `sample`.

        Returns
        -------
        MaxMargin
            Dual coefficients, the margin, and how far the search went.

        Raises
        ------
        InfeasibleError
            For a hard margin: if version space is empty, or `max_iter` steps did not lead into
            it. Its `certificate` has weights :math:`a \ge 0` with :math:`\sum_i a_i y_i \phi_i`
            close to zero, and with a free bias :math:`\sum_i a_i y_i` too.
        ValueError
            If a setting is out of range, or with a free bias only one label occurs. For a hard
            margin without one: if the examples can be separated, but lengths of feature vectors
            that differ by 1e4 and more hide the margin in the rounding of the longest.
        MemoryError
            If there is no room for the factor of the examples that matter.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` steps did not reach `tol`.

        Notes
        -----
        Without a free bias an intercept takes part through `offset`, in the norm too. After some
        steps of dual coordinate ascent an active set finds the exact solution (Goldfarb and
        Idnani, 1983), corrected by residuals in twice the working precision, on ill-conditioned
        matrices too.

        References
        ----------
        D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
        quadratic programs", Mathematical Programming 27, 1983.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> found = VersionSpace(np.eye(2), [1, -1]).max_margin()
        >>> print(f"{found.margin:.3f}")
        0.707
        """
        return interior.max_margin(
            self.problem, C=C, free_bias=free_bias, tol=tol, max_iter=max_iter, callback=callback
        )

    def log_volume(
        self,
        *,
        method: str = "auto",
        tol: float = 0.1,
        max_length: float = 1e5,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
    ) -> Evidence:
        r"""Return ln of the share of the sphere that version space takes.

        With `softness` that is the log marginal likelihood of Gaussian-process classification
        with probit noise, exact but for the sampling error that is reported.

        Parameters
        ----------
        method : {"auto", "bridge", "integration"}, default="auto"
            "bridge", which "auto" is: billiards inside version space under a ladder of Gaussian
            laws, from one fitted to version space to the isotropic one, combined by MBAR.
            "integration": the same on a ladder of transparencies from 1 to 0, often a much longer
            path to the same error, but with the violations on each rung.
        tol : float, default=0.1
            Standard error at which to stop, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop in any case, after a first round in
            full. Positive.
        n_trajectories : int, default=4
            Independent trajectories, at least 1.
        n_jobs, random_state
            As for `sample`.
        callback : callable, default=None
            As for `sample`, with a mapping of ``length`` and ``error`` (nats).

        Returns
        -------
        Evidence
            The value in nats, at most 0, with its standard error.

        Raises
        ------
        InfeasibleError
            If no point of version space was found: it is empty, or too small. ``violations`` is
            the smallest number of violated examples seen.
        FloatingPointError
            If double precision gives out, or version space is too narrow for it.
        MemoryError
            If there is no room for the matrices: about :math:`1.5 \sqrt m` of the size of the Gram
            matrix for a bridge, two for the ladder.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`.

        Notes
        -----
        With transparency :math:`\kappa` the share becomes
        :math:`Z(\kappa) = E[\kappa^{\text{violations}}]` over the sphere. It is 1 at
        :math:`\kappa = 1`, and the volume at :math:`\kappa = 0`. A bridge leaves the walls as they
        are and changes the measure: the center, its distance from the walls and the spread of
        the plane coordinates make a Gaussian law, of which a good part lies in version space;
        seven to thirty laws lead from there to the isotropic one.

        References
        ----------
        B. Cousins and S. Vempala, "Bypassing KLS: Gaussian cooling and an O*(n^3) volume
        algorithm", STOC 2015.

        M. R. Shirts and J. D. Chodera, "Statistically optimal analysis of samples from multiple
        equilibrium states", Journal of Chemical Physics 129, 2008.

        Examples
        --------
        Ten orthogonal planes cut the sphere into 1024 equal pieces.

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> found = VersionSpace(np.eye(10), np.ones(10)).log_volume(random_state=0)
        >>> bool(abs(found.value + 10 * np.log(2)) < 4 * found.error < 0.4)
        True
        """
        return evidence.log_volume(
            self.problem,
            method=method,
            tol=tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
            seed=random_state,
            callback=callback,
        )

    def evidence(
        self,
        label_noise: float | tuple[float, float] | Sequence[float] | Floats = 0.0,
        *,
        method: str = "auto",
        tol: float = 0.1,
        max_length: float = 1e5,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
    ) -> Evidence:
        r"""Return the log probability of the labels, given a rate of label noise.

        Parameters
        ----------
        label_noise : float, tuple of two floats, or array-like of shape (n,), default=0.0
            Probability in [0, 0.5) that a label was flipped. A tuple of two gives it for
            examples that truly are negative and for those that truly are positive. A list or
            array holds rates for both classes alike: one ladder serves them all.
        method : {"auto", "bridge", "integration"}, default="auto"
            As for `log_volume` where no label is noisy. Behind transparent walls the posterior may
            have modes that a bridge does not find: for a rate above 0, or an array of rates,
            "auto" is "integration".
        tol, max_length, n_trajectories, n_jobs, random_state, callback
            As for `log_volume`. The tolerance holds for each of the rates.

        Returns
        -------
        Evidence
            The value in nats with its standard error: floats, or arrays of shape (n,) for n
            rates.

        Raises
        ------
        InfeasibleError
            If every value is minus infinity, which takes a rate of 0 in one class at least. In an
            array with other rates such a value stays: with an infinite error, or with none where
            two examples prove it.
        ValueError
            If a rate or a setting is out of range, or the rates do not go with the method.
        FloatingPointError, MemoryError
            As for `log_volume`.

        Warns
        -----
        ConvergenceWarning
            As for `log_volume`.

        Notes
        -----
        For a rate :math:`\epsilon` of either class the value is
        :math:`m \ln(1 - \epsilon) + \ln Z(\epsilon / (1 - \epsilon))`, with Z as in
        `log_volume`. For :math:`\epsilon_-` and :math:`\epsilon_+` it is :math:`n_-
        \ln(1 - \epsilon_-) + n_+ \ln(1 - \epsilon_+) + \ln Z(\kappa_-, \kappa_+)`. Here
        :math:`n_\pm` examples are labeled :math:`\pm`, :math:`\kappa_- = \epsilon_+ / (1 -
        \epsilon_-)` and :math:`\kappa_+ = \epsilon_- / (1 - \epsilon_+)`. On the ladder to them
        either class stays at its own transparency as soon as that is reached.

        Examples
        --------
        Orthogonal planes leave every label to chance, however noisy.

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(6), [1, -1, 1, 1, -1, 1])
        >>> found = space.evidence([0.0, 0.1, 0.3], random_state=0)
        >>> bool((abs(found.value + 6 * np.log(2)) < 4 * found.error).all())
        True
        """
        return evidence.evidence(
            self.problem,
            label_noise,
            method=method,
            tol=tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
            seed=random_state,
            callback=callback,
        )

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
        callback: Callback = None,
    ) -> OnionTable:
        r"""Return the center of every layer of weight vectors with some training errors.

        Layer (a, b) holds the unit vectors that violate exactly a examples labeled -1 and b
        examples labeled +1. Version space is layer (0, 0).

        Parameters
        ----------
        max_errors : int or pair of ints, default=(5, 5)
            Largest a and largest b, at least 0. Layers beyond the number of examples of a class
            are empty.
        method : {"exact", "projected"}, default="exact"
            "exact": a billiard with transparent walls that spends about the same path in every
            layer. Labels need not be feasible. "projected": the rays of a billiard in version
            space, each followed beyond the wall it hits through the layers behind (Ruján and
            Marchand). Cheap, but biased, and without volumes.
        tol : float, default=0.1
            Standard error in radians that the center of every layer seen is to reach. Positive.
        volume_tol : float, default=None
            Standard error in nats that ln of the volume of every layer seen is to reach.
            Positive; None: whatever it is when the centers are good. Only with "exact".
        max_length : float, default=2e4
            Path in radians per trajectory at which to stop in any case, after a first round in
            full. Positive.
        n_trajectories : int, default=4
            Independent trajectories, at least 1.
        n_jobs, random_state, callback
            As for `sample`; ``center_error`` is the largest of all layers.

        Returns
        -------
        OnionTable
            Centers with their errors, paths and volumes.

        Raises
        ------
        InfeasibleError
            With "projected", if version space is empty or no point of it was found.
        FloatingPointError
            If double precision gives out on the way.
        MemoryError
            If there is no room for the layers, or with "exact" for a factor of the Gram matrix.

        Warns
        -----
        ConvergenceWarning
            If a layer's error is above `tol` or `volume_tol`, or a layer was never visited.

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
        return onion.onion(
            self.problem,
            max_errors,
            classes=self.classes,
            method=method,
            tol=tol,
            volume_tol=volume_tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
            seed=random_state,
            callback=callback,
        )

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
        callback: Callback = None,
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
            How often, at least 1. None is m // k, which leaves almost every example out once.
            Examples are left out in a random order, in another one when all have been.
        method, tol, max_length, n_trajectories, n_jobs, random_state, callback
            As for `onion`, for each run.

        Returns
        -------
        LayerChoice
            The layer, and the mean errors of all. A layer must have a center in every run; of
            several equally good ones the one with the fewest training errors is chosen.

        Raises
        ------
        InfeasibleError
            With "projected", if the version space of a part of the examples is empty.
        ValueError
            If a setting is out of range, or no layer had a center in every run.
        FloatingPointError, MemoryError
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
        return onion.choose_layer(
            self.problem,
            max_errors,
            k=k,
            n_repeats=n_repeats,
            method=method,
            tol=tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
            seed=random_state,
            callback=callback,
        )
