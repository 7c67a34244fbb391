"""Version space: the unit weight vectors that satisfy all labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import validation
from bayespoint.base.report import as_html
from bayespoint.base.validation import Floats, RandomState
from bayespoint.engine import InfeasibleError, evidence, interior, onion, sampling
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import OnionSettings, SampleOptions, sample_settings
from bayespoint.kernels import explicit
from bayespoint.posterior.reweight import reweight
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.evidence import Evidence
from bayespoint.results.onion import LayerChoice, OnionTable
from bayespoint.results.points import MaxMargin
from bayespoint.results.weighted import WeightedResult

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["InfeasibleError", "VersionSpace"]


class VersionSpace:
    """Version space of labeled examples, given by their Gram matrix.

    A weight vector ``w = sum(c_i phi_i)`` in the span of the feature vectors ``phi_i`` has plane
    coordinates ``f_i = <w, phi_i>``. Version space is the set of unit vectors with
    ``y_i f_i > 0`` for every example: a convex polytope on the sphere. Its center of mass is the
    Bayes point (Herbrich, Graepel and Campbell, 2001).

    With more than two classes a weight vector has a part ``w_c`` for each class, with dual
    coefficients of shape (n_classes, m), and an example is satisfied if its own class has the
    largest ``<w_c, phi_i>``. Version space is again a convex polytope, with a wall between the
    class of each example and every other class: all classes are played together.

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Kernel values between the examples: finite, symmetric, positive semidefinite with
        `offset` and `softness` added. Contiguous arrays of float64, and of float32 if exactly
        symmetric, are not copied: do not change them while a method runs. All arithmetic is in
        double precision.
    y : array-like of shape (m,)
        Labels: -1 and +1, or two classes of any sortable type, of which the first is negative and
        the second positive, or more than two classes.
    softness : float or array-like of shape (m,), default=0.0
        Added to the diagonal, at least 0: the variance of a Gaussian noise on the latent function.
        With positive values any labels are feasible.
    offset : float, default=0.0
        Added to every kernel value, at least 0. 1 gives each feature vector a further coordinate
        1, for the intercept ``sum(c_i)``.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes that -1 and +1 stand for, or 0, 1, ... of more than two.
    problem : Problem
        The checked arrays.

    Raises
    ------
    ValueError
        If the Gram matrix is not square, finite, symmetric or positive semidefinite, if a diagonal
        entry with offset and softness is not positive, or if the labels are of a single class.
    TypeError
        For sparse, masked, complex or object arrays.

    See Also
    --------
    from_features : Version space of explicit features, without the matrix.
    BayesPointClassifier : Fit and predict from inputs and a kernel.

    Notes
    -----
    Positive semidefiniteness is tested by a factorization for up to 2000 examples. Beyond that
    about forty multiplications with the matrix are used, which detect clear violations.

    All methods that run the engine raise InfeasibleError if version space is empty or no point of
    it was found; FloatingPointError if double precision is not sufficient, because the Gram matrix
    is ill-conditioned or has a small negative eigenvalue (a softness helps); MemoryError if memory
    does not suffice; and ValueError or TypeError for a wrong setting.

    For more than two classes all that is defined by two raises ValueError: `onion`,
    `choose_layer`, a finite C or a free bias of `max_margin`, label noise that depends
    on the class, and the dynamics `Chord` and `Flipper`. Transparent walls then need a softness
    where feature vectors are parallel.

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
        matrix, exact = validation.gram_matrix(gram, keep_singles=True)
        self._set(matrix, y, softness, offset, "gram")
        validation.positive_semidefinite(matrix, self.offset, self.softness, exact=exact)

    def _set(
        self, gram: explicit.Gram, y: ArrayLike, softness: ArrayLike, offset: float, name: str
    ) -> None:
        """Check everything but the kernel values. `name` is the matrix in error messages."""
        labels, self.classes = validation.class_labels(y, len(gram), rows=name)
        soft = validation.softness(softness, len(gram))
        constant = validation.real("offset", offset, low=0.0)
        validation.positive_diagonal(gram, constant, soft, name=name)
        self.problem = Problem(gram, labels, soft, constant, n_classes=len(self.classes))

    @classmethod
    def over(cls, problem: Problem) -> Self:
        """Return the version space of a checked problem.

        Parameters
        ----------
        problem : Problem
            The arrays, which are not checked again.

        Returns
        -------
        VersionSpace
            A version space with the classes -1 and +1, or 0, 1, ... of more than two.
        """
        space = cls.__new__(cls)
        joint = problem.is_joint
        space.problem = problem
        space.classes = np.arange(problem.n_classes) if joint else np.array([-1, 1])
        return space

    @classmethod
    def from_features(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        softness: ArrayLike = 0.0,
        offset: float = 0.0,
    ) -> Self:
        """Return the version space of explicit features, without their Gram matrix.

        The kernel is linear. For another one `X` may hold features whose inner products are its
        values, for instance those of scikit-learn's ``Nystroem``.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            Features, finite. Arrays of float64 in C order are not copied: do not change them while
            a method runs.
        y, softness, offset
            As for the constructor.

        Returns
        -------
        VersionSpace
            A version space whose `gram` is a ``FeatureRows``.

        Raises
        ------
        ValueError, TypeError
            As for the constructor, and if the features are not finite or of the wrong shape.
        MemoryError
            If a copy of the features does not fit into memory.

        Notes
        -----
        This is for many examples with few features, and no softness. From 1000 examples on, and 8
        for each feature, a neighbor list of walls makes most bounces cheap. Others take
        O(m n_features) operations, with the matrix O(m). What needs a factor of the matrix is
        refused: refresh="full", `Scattered` dynamics, `evidence`, and the exact `onion`.

        Examples
        --------
        >>> X = np.random.default_rng(0).standard_normal((2000, 3))
        >>> y = np.sign(X[:, 0])
        >>> space = VersionSpace.from_features(X, y)
        >>> weights = space.sample(tol=0.1, random_state=0).center @ X
        >>> bool((np.sign(X @ weights) == y).all())
        True
        """
        space = cls.__new__(cls)
        space._set(explicit.feature_rows(X), y, softness, offset, "X @ X.T")
        return space

    @property
    def gram(self) -> explicit.Gram:
        """(m, m) Kernel values without offset and softness; ``FeatureRows`` by `from_features`."""
        return self.problem.gram

    @property
    def y(self) -> NDArray[Any]:
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
        if self.problem.is_joint:
            return f"<VersionSpace: {len(self.y)} examples of {len(self.classes)} classes>"
        negative = int((self.y < 0).sum())
        return f"<VersionSpace: {negative} negative and {len(self.y) - negative} positive examples>"

    def _repr_html_(self) -> str:
        negative = int((self.y < 0).sum())
        low, high = self.softness.min(), self.softness.max()
        if self.problem.is_joint:
            counts = np.bincount(self.y, minlength=len(self.classes))
            pairs = zip(self.classes, counts, strict=True)
            examples = [(f"examples of {name}", str(count)) for name, count in pairs]
        else:
            examples = [
                ("negative examples", f"{negative} ({self.classes[0]})"),
                ("positive examples", f"{len(self.y) - negative} ({self.classes[1]})"),
            ]
        rows = [
            *examples,
            ("softness", f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"),
            ("offset", f"{self.offset:.4g}"),
        ]
        return as_html("Version space", rows)

    def margins(self, dual_coef: ArrayLike) -> Floats:
        """Return the margin ``y_i <w, phi_i>`` of every example.

        Parameters
        ----------
        dual_coef : array-like of shape (m,) or (..., m)
            Dual coefficients of one weight vector or of several; with more than two classes of
            shape (..., n_classes, m).

        Returns
        -------
        ndarray of shape (m,) or (..., m)
            Positive if the vector satisfies the label. Divided by the square root of
            ``gram[i, i] + offset + softness[i]`` and by the norm of w, it is the distance to the
            plane of the example. With more than two classes the lead of the example's class over
            the next, ``<w_y, phi_i> - max(<w_c, phi_i>)``; divide by the square root of twice the
            diagonal for a distance.

        Raises
        ------
        ValueError
            If the coefficients are not finite, or so large that margins overflow.
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

        Raises
        ------
        ValueError
            As in `margins`.
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
        r"""Run the billiard in version space.

        A ball moves along great circles and is reflected at the planes. Its path fills version
        space uniformly: the mean position is the center of mass, and points at equal spacing
        along the path are correlated draws from the uniform distribution.

        Parameters
        ----------
        tol : float, default=None
            Estimated angular error of the center at which to stop, in radians, positive. The run
            also goes on until the draws are worth 100 independent ones, or half of them if there
            are fewer than 200, or a quarter if there are more than 400 (below 80 nothing can be
            told); and until the trajectories agree: R-hat is at most 1.05, or what so few
            independent draws exceed by chance, 1.1 for 100. 0.1 if no limit of the run is given.
        length : float, default=None
            Path length at which to stop, in radians per trajectory, at least 1e-6.
        max_time : float, default=None
            Seconds after which to stop with what there is, positive. The result then depends on the
            machine and its load. A run that it ended can be continued.
        n_trajectories : int, default=4
            Number of independent trajectories.
        n_draws : int, default=100
            Number of draws to keep of each trajectory.
        n_jobs : int, default=None
            Number of threads, as in joblib: None is 1, -1 all processors. On one machine the same
            seed gives the same bits for any number.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None draws one from NumPy's global generator. It must be left out in a run that
            continues another.
        callback : callable, default=None
            Called about ten times a second, in the calling thread, with a mapping of the current
            ``length``, ``bounces`` and ``center_error``. An exception from it ends the run.
        options : SampleOptions, default=None
            Other settings: the start, a run to continue, a checkpoint, the largest number of
            bounces, the transparency of the walls, and how the ball moves. None: their defaults.

        Returns
        -------
        BilliardResult
            Centers, draws and diagnostics.

        Raises
        ------
        InfeasibleError, FloatingPointError, MemoryError
            See the notes of the class.
        ValueError
            If a setting is out of range, if the start is outside version space, if the run to
            continue or the checkpoint is of another problem or other settings, or if the file is
            damaged (it is then not overwritten).
        OSError
            If no file can be written in the folder of the checkpoint, or it cannot be read.
        TimeoutError
            If `max_time` was over before a starting point was found.

        Warns
        -----
        RuntimeWarning
            If the checkpoint could not be written, as on a full disk; the run continues.
        ConvergenceWarning
            If another limit ended the run before `tol`, R-hat or the effective sample size were
            reached; if rounding has moved the walls, or a trajectory repeats a short cycle. See
            the user guide on diagnostics.

        Examples
        --------
        >>> space = VersionSpace(np.eye(3), [1, 1, -1])
        >>> result = space.sample(length=200.0, n_draws=50, random_state=1)
        >>> result.draws.shape
        (4, 50, 3)
        >>> bool((space.margins(result.draws) > 0).all())
        True
        """
        if options is None:
            options = SampleOptions()
        elif not isinstance(options, SampleOptions):
            raise TypeError(f"options must be a SampleOptions or None; got {options!r}")
        settings = sample_settings(
            options,
            tol=tol,
            length=length,
            max_time=max_time,
            n_trajectories=n_trajectories,
            n_draws=n_draws,
        )
        return sampling.sample(
            self.problem,
            settings,
            seed=random_state,
            start=options.start,
            callback=callback,
            continue_from=options.continue_from,
            checkpoint=options.checkpoint,
            every=options.every,
            n_jobs=n_jobs,
        )

    def reweight(
        self, result: BilliardResult, weight: Callable[[Floats], ArrayLike], *, log: bool = False
    ) -> WeightedResult:
        r"""Return the center of mass of a density on version space, from weighted draws.

        Parameters
        ----------
        result : BilliardResult
            A run of `sample` in this version space.
        weight : callable
            The density, up to a factor, relative to that of the run (uniform with opaque walls).
            It is called once with the (n, m) margins of the draws, as `margins` returns them for
            unit vectors, and returns n weights, finite, at least 0 and not all 0.
        log : bool, default=False
            Whether `weight` returns natural logarithms, -inf for 0, so that products over many
            examples do not underflow.

        Returns
        -------
        WeightedResult
            The center, the weights and their effective sample size.

        Raises
        ------
        TypeError
            If `result` is not a `BilliardResult`, `weight` is not callable, or it does not return
            real numbers.
        ValueError
            If `result` is of another number of examples or classes, if the weights have the wrong
            shape, are negative, infinite, NaN or all zero, or if the weighted mean is zero.

        Warns
        -----
        ConvergenceWarning
            If the effective sample size of the weights is below 50, or below half of the draws.

        Notes
        -----
        Importance sampling (Ruján and Marchand, 2000, section 18.4). The estimate is a ratio of two
        means, whose bias is in inverse proportion to the effective sample size of the weights.

        Examples
        --------
        Weights by a power of the first margin move the center away from its plane:

        >>> space = VersionSpace(np.eye(2), [1, -1])
        >>> run = space.sample(length=2000.0, n_draws=500, random_state=0)
        >>> found = space.reweight(run, lambda margins: margins[:, 0] ** 3)
        >>> found.center.round(1)
        array([ 0.9, -0.4])
        """
        return reweight(result, weight, self.problem, log=log)

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
            "light_trap": a billiard from a random point, with walls that always let the ball in,
            and out with a probability that decreases from 1 to 0. "one_way": the same with
            probability 0. "perceptron": the kernel perceptron. "max_margin": the search for the
            maximal margin, stopped as soon as no example is violated.
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

        Warns
        -----
        ConvergenceWarning
            If a light trap found no point, and the search for the maximal margin was used instead.

        Examples
        --------
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
            Penalty for a unit of hinge loss, positive: the largest multiplier. inf: a hard margin.
        free_bias : bool, default=False
            Add a bias b without penalty to ``<w, phi_i>``. Both labels must occur.
        tol : float, default=1e-8
            Largest violation of the optimality conditions, in units of the margin, in (0, 1),
            apart from the rounding of the multipliers.
        max_iter : int, default=10000000
            Largest number of coordinate steps and changes of the active set, at least 1.
        callback : callable, default=None
            As for `sample`.

        Returns
        -------
        MaxMargin
            Dual coefficients, the margin, and the remaining violations. With more than two classes
            the hard margin of Crammer and Singer: the largest ``min(<w_y, phi_i> - <w_c, phi_i>)``
            of all parts together, for C = inf without a free bias.

        Raises
        ------
        InfeasibleError
            For a hard margin: if version space is empty, or was not reached in `max_iter` steps.
            Its `certificate` has weights :math:`a \ge 0` for which :math:`\sum_i a_i y_i
            \phi_i`, and with a free bias :math:`\sum_i a_i y_i`, is close to zero.
        ValueError
            If a setting is out of range, or with a free bias only one label occurs. For a hard
            margin without free bias also if the lengths of the feature vectors differ by 1e4 or
            more, so that rounding exceeds the margin of examples that can be separated.
        MemoryError
            See the notes of the class.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` steps did not reach `tol`.

        Notes
        -----
        An intercept by `offset` is part of the norm, a free bias is not. After some steps of dual
        coordinate ascent an active-set method finds the exact solution (Goldfarb and Idnani,
        1983), refined by residuals in twice the working precision.

        References
        ----------
        D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
        quadratic programs", Mathematical Programming 27, 1983.

        Examples
        --------
        >>> found = VersionSpace(np.eye(2), [1, -1]).max_margin()
        >>> print(f"{found.margin:.3f}")
        0.707
        """
        return interior.max_margin(
            self.problem, C=C, free_bias=free_bias, tol=tol, max_iter=max_iter, callback=callback
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
        r"""Return the log evidence: the log probability of the labels under the prior.

        Without label noise it is the logarithm of the volume of version space, as a fraction of the
        sphere's. With `softness` it is the log marginal likelihood of Gaussian-process
        classification with probit noise. The only error is the reported sampling error.

        Parameters
        ----------
        label_noise : float, tuple of two floats, or array-like of shape (n,), default=0.0
            Probability in [0, 0.5) that a label was flipped. A tuple of two holds the rates of
            examples that truly are negative and of those that truly are positive. A list or array
            holds several rates, each for both classes. They share one ladder. With more than two
            classes a label is with this probability any of the others alike.
        method : {"auto", "bridge", "integration"}, default="auto"
            "bridge": billiards inside version space on a ladder of Gaussian distributions, from one
            fitted to version space to the isotropic one. They are combined by MBAR (Shirts and
            Chodera). Only for two classes, and rate 0: it may miss modes of other posteriors.

            "integration": billiards on a ladder of transparencies from 1 to 0. It often needs a
            much longer path, but also estimates the mean violations on each rung.
            "auto": "bridge" where it is possible, otherwise "integration".
        tol : float, default=0.1
            Standard error at which to stop, in nats, positive, for each of the rates.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop in any case, after a complete first
            round, positive.
        n_trajectories : int, default=4
            Number of independent trajectories, at least 1.
        n_jobs, random_state, callback
            As for `sample`; the mapping has ``length`` and ``error`` (nats).

        Returns
        -------
        Evidence
            The value in nats, at most 0, with its standard error: floats, or arrays of shape (n,)
            for n rates.

        Raises
        ------
        InfeasibleError
            If all values are minus infinity, which is possible only with a rate of 0: no point of
            version space was found. ``violations`` is the smallest number of violated examples
            seen. Among other rates such a value is returned with an infinite error, or with error 0
            if two examples are in conflict.
        ValueError
            If a rate or a setting is out of range, or the method does not support the rates.
        FloatingPointError, MemoryError
            See the notes of the class. "bridge" needs about :math:`1.5 \sqrt m` times the memory of
            the Gram matrix, "integration" twice.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`.

        Notes
        -----
        The integration uses :math:`Z(\kappa) = E[\kappa^{\text{violations}}]` over the sphere for
        the transparency :math:`\kappa`, which is 1 at :math:`\kappa = 1` and the volume at
        :math:`\kappa = 0`. The bridge keeps the walls and changes the measure: seven to thirty
        distributions lead from a Gaussian one with a large share in version space to the isotropic
        one (Cousins and Vempala).

        For a rate :math:`\epsilon` of either class the value is
        :math:`m \ln(1 - \epsilon) + \ln Z(\epsilon / (1 - \epsilon))`. For :math:`\epsilon_-` and
        :math:`\epsilon_+` it is :math:`n_-
        \ln(1 - \epsilon_-) + n_+ \ln(1 - \epsilon_+) + \ln Z(\kappa_-, \kappa_+)`. Here
        :math:`n_\pm` examples are labeled :math:`\pm`, :math:`\kappa_- = \epsilon_+ / (1 -
        \epsilon_-)` and :math:`\kappa_+ = \epsilon_- / (1 - \epsilon_+)`.

        References
        ----------
        B. Cousins and S. Vempala, "Bypassing KLS: Gaussian cooling and an O*(n^3) volume
        algorithm", STOC 2015.

        M. R. Shirts and J. D. Chodera, "Statistically optimal analysis of samples from multiple
        equilibrium states", Journal of Chemical Physics 129, 2008.

        Examples
        --------
        Ten orthogonal planes cut the sphere into 1024 equal pieces. All labelings are equally
        probable, at any rate of label noise.

        >>> space = VersionSpace(np.eye(10), np.ones(10))
        >>> found = space.evidence(random_state=0)
        >>> bool(abs(found.value + 10 * np.log(2)) < 4 * found.error < 0.4)
        True
        >>> noisy = space.evidence([0.1, 0.3], random_state=0)
        >>> bool((abs(noisy.value + 10 * np.log(2)) < 4 * noisy.error).all())
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
        examples labeled +1 (Ruján and Marchand, section 18.5.3). Version space is layer (0, 0).

        Parameters
        ----------
        max_errors : int or pair of ints, default=(5, 5)
            Largest a and largest b, at least 0.
        method : {"exact", "projected"}, default="exact"
            "exact": a billiard with transparent walls that spends about the same path in every
            layer. Version space may be empty. "projected": the rays of a billiard in version
            space, each extended through the layers beyond the wall that it hits. Faster, but
            biased, and without volumes. Ruján and Marchand project straight rays, these are great
            circles.
        tol : float, default=0.1
            Standard error, in radians, of the center of every layer seen at which to stop,
            positive.
        volume_tol : float, default=None
            Standard error, in nats, of the log volume of every layer seen at which to stop,
            positive. None: no condition. Only with "exact".
        max_length : float, default=2e4
            As for `evidence`.
        n_trajectories : int, default=4
            As for `evidence`.
        n_jobs, random_state, callback
            As for `sample`; ``center_error`` is the largest of all layers.

        Returns
        -------
        OnionTable
            Centers with their errors, paths and volumes.

        Raises
        ------
        InfeasibleError, FloatingPointError, MemoryError
            See the notes of the class; InfeasibleError only with "projected".

        Warns
        -----
        ConvergenceWarning
            If a layer's error is above `tol` or `volume_tol`, or a layer was never visited.

        Notes
        -----
        Within a layer a billiard with transparent walls is uniform for all transparencies. A ball
        passes from one layer to another with probability :math:`\min(1, W' / W)`, where W is the
        inverse of the layer's volume, estimated during the run. Between the parts of the path that
        are averaged, the trajectories climb a ladder of transparencies to fully transparent walls
        and return. A bounce costs O(m + number of layers).

        The layer with half of the examples of each class contains the opposite of each of its
        vectors, and so has no center.

        Examples
        --------
        Three orthogonal planes cut the sphere into octants. Violating the third example leads
        into the next one.

        >>> space = VersionSpace(np.eye(3), [1, 1, -1])
        >>> table = space.onion((1, 0), random_state=0)
        >>> bool(np.abs(table.center(0, 0) - [0.577, 0.577, -0.577]).max() < 0.1)
        True
        >>> bool(np.abs(table.center(1, 0) - [0.577, 0.577, 0.577]).max() < 0.1)
        True
        """
        most = validation.pair("max_errors", max_errors, validation.integer)
        return onion.onion(
            self.problem,
            OnionSettings(most, method, tol, volume_tol, max_length, n_trajectories),
            classes=self.classes,
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
        """Choose the layer whose center makes the fewest errors on held-out examples.

        In each repetition k examples are left out, the onion of the others is computed, and the
        center of every layer is tested on the k examples (Ruján and Marchand, with k = 10).

        Parameters
        ----------
        max_errors : int or pair of ints, default=(5, 5)
            As for `onion`.
        k : int, default=10
            Number of examples left out at a time, at least 1 and fewer than m.
        n_repeats : int, default=None
            Number of repetitions, at least 1. None is m // k, in which almost every example is left
            out once. The order is random, and drawn again when fewer than k examples remain.
        method, tol, max_length, n_trajectories, n_jobs, random_state, callback
            As for `onion`, for each run.

        Returns
        -------
        LayerChoice
            The layer, and the mean errors of all. Only layers with a center in every run are
            candidates. Ties go to the layer with the fewest training errors.

        Raises
        ------
        InfeasibleError, FloatingPointError, MemoryError
            As for `onion`.
        ValueError
            If a setting is out of range, or no layer had a center in every run.

        Warns
        -----
        ConvergenceWarning
            If in a run the error of a layer's center is above `tol`. There is no warning for layers
            that were not visited: see `LayerChoice.n_tests`.

        Examples
        --------
        >>> x = np.random.default_rng(0).standard_normal((30, 4))
        >>> space = VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1))
        >>> choice = space.choose_layer((1, 1), k=5, random_state=0)
        >>> choice.n_tests.tolist()
        [[30, 30], [30, 30]]
        >>> bool(choice.errors[choice.layer] == choice.errors.min())
        True
        """
        most = validation.pair("max_errors", max_errors, validation.integer)
        return onion.choose_layer(
            self.problem,
            OnionSettings(most, method, tol, None, max_length, n_trajectories),
            k=k,
            n_repeats=n_repeats,
            n_jobs=n_jobs,
            seed=random_state,
            callback=callback,
        )
