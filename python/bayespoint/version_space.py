"""Version space: the unit weight vectors that give every example its label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint._core import InfeasibleError, __version__
from bayespoint.base import validation
from bayespoint.base.linalg import Factor
from bayespoint.base.report import as_html
from bayespoint.base.validation import Floats, Labels
from bayespoint.engine.correlation import CorrelationMixin
from bayespoint.engine.evidence import EvidenceMixin
from bayespoint.engine.interior import InteriorMixin
from bayespoint.engine.onion import OnionMixin
from bayespoint.engine.sampling import SamplingMixin
from bayespoint.engine.weighting import WeightingMixin
from bayespoint.kernels import sources

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["InfeasibleError", "VersionSpace", "__version__"]


class VersionSpace(
    SamplingMixin, CorrelationMixin, EvidenceMixin, InteriorMixin, OnionMixin, WeightingMixin
):
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
        half the memory; all arithmetic is in doubles, so they give the exact billiard of the
        matrix that rounding made of yours, off by 6e-8 of each value. If they are not symmetric to
        the last bit they are copied. Anything else is converted to doubles.
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
    gram : ndarray of shape (m, m), or KernelRows
        Kernel values, without offset and softness: doubles or singles. With `from_features` the
        inputs and the kernel that give them.
    y : ndarray of shape (m,), int8
        Labels as -1 and +1.
    classes : ndarray of shape (2,)
        What -1 and +1 stand for.
    softness : ndarray of shape (m,)
        Softness of each example.
    offset : float
        Offset of all kernel values.

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

    gram: sources.Gram
    y: Labels
    classes: NDArray[Any]
    softness: Floats
    offset: float

    _known_inverse: tuple[Factor, Floats] | None = None
    _source: tuple[Any, Any] = (None, None)

    def __init__(
        self, gram: ArrayLike, y: ArrayLike, *, softness: ArrayLike = 0.0, offset: float = 0.0
    ) -> None:
        self._check("gram", gram, y, softness, offset)

    def _check(
        self, name: str, gram: ArrayLike, y: ArrayLike, softness: ArrayLike, offset: float
    ) -> None:
        """Set all from arguments of a caller, who calls the matrix by that name."""
        self.gram, exact = validation.gram_of_its_kind(gram, name=name)
        self.y, self.classes = validation.binary_labels(y, len(self.gram), rows=name)
        self.softness = validation.softness(softness, len(self.gram))
        self.offset = validation.real("offset", offset, low=0.0)
        validation.positive_diagonal(self.gram, self.offset, self.softness, name=name)
        validation.positive_semidefinite(
            self.gram, self.offset, self.softness, exact=exact, name=name
        )

    @classmethod
    def _of(
        cls, name: str, gram: ArrayLike, y: ArrayLike, *, softness: ArrayLike, offset: float
    ) -> Self:
        """Return the version space of a matrix that errors call by that name."""
        space = cls.__new__(cls)
        space._check(name, gram, y, softness, offset)
        return space

    @classmethod
    def _over(
        cls,
        gram: sources.Gram,
        y: Labels,
        *,
        softness: Floats,
        offset: float,
        inverse: tuple[Factor, Floats] | None = None,
        source: tuple[Any, Any] = (None, None),
    ) -> Self:
        """Return a version space over arrays that have been checked already.

        `inverse` is a factor of the Gram matrix and the diagonal of its inverse, if at hand;
        `source` the kernel and the inputs that the matrix is of, if they are known.
        """
        space = cls.__new__(cls)
        space._known_inverse, space._source = inverse, source
        space.gram, space.y, space.softness, space.offset = gram, y, softness, offset
        space.classes = np.array([-1, 1])
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
        softness : float or array-like of shape (m,), default=0.0
            As for the constructor.
        offset : float, default=0.0
            As for the constructor.
        cache_size : float, default=200.0
            Room for rows, in MB of 2**20 bytes: at least two rows of m doubles. More than the
            rows that there are is not used. It changes the time a run takes, not its result.

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
        feature, geodesic billiards look only at the walls that the ball may reach soon and read no
        rows: the same walls, of which twenty times fewer are looked at where version space is
        small. Where more than a quarter of them is near, as in many dimensions or with a softness
        of more than a little, they look at all until they are next laid anew. Now and then all
        plane coordinates are computed anew: for explicit features at O(m n_features), for other
        kernels by a sweep through all rows. What needs a factor of the matrix is refused:
        refresh="full", scattering="cosine" and a scatterer in `sample`, `correlation_length`,
        `log_volume` and `evidence`, and the exact `onion`. With refresh="auto" a factor is made of
        some rows, a number for each example and dimension, where half a second does for it.

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
        space.gram = sources.kernel_rows(X, kernel, cache_size)
        space.y, space.classes = validation.binary_labels(y, len(space.gram), rows="X")
        space.softness = validation.softness(softness, len(space.gram))
        space.offset = validation.real("offset", offset, low=0.0)
        validation.positive_diagonal(space.gram, space.offset, space.softness, name="kernel(X, X)")
        return space

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
        with np.errstate(over="ignore", invalid="ignore"):
            f = sources.product(c, self.gram)
        if self.offset:
            f += self.offset * c.sum(axis=-1, keepdims=True)
        f += c * self.softness
        f *= self.y
        if not np.isfinite(f).all():
            raise ValueError("dual_coef must not be so large that margins overflow")
        return np.asarray(f)

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
        return bool((self.margins(c) > 0).all())

    def _refuse_conflicts(self, fewest: int | None = None) -> None:
        """Raise InfeasibleError, with its proof, for two examples no vector can both satisfy.

        `fewest` is the smallest number of violated examples that was seen, if any vector was tried.
        """
        if self.softness.min() > 0:
            return
        found = sources.conflict(self.gram, self.y, self.offset, self.softness)
        if found is None:
            return
        i, j = found
        kind = "the same" if self.y[i] != self.y[j] else "opposite"
        labels = "different labels" if self.y[i] != self.y[j] else "the same label"
        square = sources.squared_sine(self.gram, self.offset, i, j)
        verdict = (
            "no weight vector satisfies both"
            if square == 0
            else "what is between their planes, if anything, is at most "
            f"{math.sqrt(square):.1e} rad wide, which the rounding of kernel values hides"
        )
        error = InfeasibleError(
            f"examples {i} and {j} have feature vectors of {kind} direction and {labels}"
            f"{', to rounding' * (square > 0)}: {verdict}. Allow for noise: a positive softness, "
            "or label noise (transparency)"
        )
        diagonal = np.add(self.gram.diagonal(), self.offset, dtype=np.float64)
        lengths = np.sqrt(diagonal + self.softness)
        certificate = np.zeros(len(self.y))
        certificate[[i, j]] = 1 / lengths[[i, j]]
        # The sum of the unit normals is of length 2 sin(angle / 2).
        shortest = math.sqrt(2 * square / (1 + math.sqrt(max(1 - square, 0.0))))
        error.margin_bound = shortest / float(certificate.sum() * lengths.max())
        tried = sources.fewest_violated(self.gram, self.y, self.offset, self.softness, found)
        error.violations = tried if fewest is None else min(tried, fewest)
        error.certificate = certificate / certificate.sum()
        raise error
