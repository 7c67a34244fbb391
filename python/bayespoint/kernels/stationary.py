"""Stationary kernels of vectors, and rules of thumb for their length scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import distance
from scipy.special import xlogy

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.products import (
    Mixed,
    Summand,
    Summands,
    Terms,
    divided,
    in_rows,
    inner,
    of_distances,
    pair_of_vectors,
    squares,
    sums_of_differences,
    vectors,
)
from bayespoint.kernels.protocol import (
    Bounds,
    Metric,
    Other,
    Parameters,
    Pulled,
    Slopes,
    check_optional,
    given,
    within,
)

_BLOCK_PAIRS = 4096  # pairs of sparse rows that are subtracted at a time
_CACHED_VALUES = 2**15  # kernel values in a block that fits into the processor's cache
_LONG = 1e5  # half squared lengths of two sparse rows above which kernels have under ten digits
_MAX_LENGTH = 1e306  # squared length of a row, in units, beyond which distances might overflow
_NEGLIGIBLE = -40.0  # exponent below which kernel values, and their rounding, are negligible
_ROUNDING = 1e-12  # largest rounding error of an exponent, relative to the squared lengths
_REACH, _SPREAD = (math.exp(-4), math.exp(5)), 1.0
"""Bounds of a length scale relative to its start, a rule of thumb, and its spread."""

Scales = float | tuple[float, ...]  # one length scale for all features, or one for each
_Profile = tuple[float, tuple[Terms, ...]]


def _dense(X: Any) -> Any:
    return X.toarray(order="C") if sparse.issparse(X) else X


def _exponential(values: Floats) -> None:
    """Take the exponential in place, without an error for underflow to 0."""
    with np.errstate(under="ignore"):
        np.exp(values, out=values)


def units_of(sigma: Scales, X: Any) -> Floats:
    """Return the length scales as an array of shape () or (n_features,)."""
    units = np.asarray(sigma)
    if units.ndim and X.shape[1] != len(units):
        raise ValueError(
            f"sigma must be a number or hold one for each of {X.shape[1]} features; got "
            f"{len(units)}"
        )
    return units


def scales(name: str, values: Any) -> Scales:
    """Return a checked length scale, or one for each feature."""
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
        return validation.positive(name, values)
    flat = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not isinstance(flat, list) or not flat:
        raise ValueError(
            f"{name} must be a positive number or one for each feature; got an array of shape "
            f"{np.shape(values)}"
        )
    return tuple(validation.positive(f"{name}[{k}]", value) for k, value in enumerate(flat))


@dataclass(frozen=True, repr=False)
class Stationary(Kernel):
    """A kernel of distances in units of a length scale, one for all features or one for each.

    Distances are those of each pair. From inner products they would lose half of their digits for
    close points, and the matrix might not be positive semidefinite.
    """

    sigma: Scales | None = None
    _: KW_ONLY
    per_feature: bool = False
    bounds: Bounds | None = None

    _until: ClassVar[tuple[tuple[str, str], ...]] = (
        ("per_feature", "sigma"),
        ("bounds", "sigma"),
    )

    _city_block: ClassVar[bool] = False
    """Whether the distance is the sum of absolute differences, not the Euclidean one."""

    accepts_limits = True

    def __post_init__(self) -> None:
        check_optional(self, "sigma", check=scales)
        if validation.boolean("per_feature", self.per_feature) and isinstance(self.sigma, float):
            raise ValueError(
                "sigma must be None or hold one number for each feature with per_feature=True; got "
                f"{self.sigma}"
            )

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        return self._values(*pair_of_vectors(X, Y, accepts_sparse=self.accepts_sparse))

    def _values(self, X: Floats, Y: Other) -> Floats:
        """Return the values of checked inputs."""
        rate, terms = self._profile()
        left, right = self._pair_in_units(X, Y)
        return of_distances(left, right, city_block=self._city_block, rate=rate, terms=terms[:1])[0]

    def _profile(self) -> _Profile:
        """Return rate and terms for `of_distances`, also those of `_with_radial` if others."""
        raise NotImplementedError

    def diag(self, X: Floats) -> Floats:
        return np.ones(vectors("X", X).shape[0])

    def parameters(self, X: Any) -> Parameters:
        """Return the length scales that were left out: "sigma", or "sigma[0]", "sigma[1]", ...."""
        if self.sigma is not None:
            return ()
        X = vectors("X", X)
        d = X.shape[1]
        if self.per_feature:
            columns = X.tocsc() if sparse.issparse(X) else X
            scales = {f"sigma[{k}]": scale_of(columns[:, [k]]) * math.sqrt(d) for k in range(d)}
        else:
            scales = {"sigma": scale_of(X)}
        family = "sigma" if self.per_feature else ""
        # City-block distances in d dimensions are typically sqrt(d) times Euclidean ones.
        unit = math.sqrt(d) if self._city_block else 1.0
        return tuple(
            within(self.bounds, name, unit * scale, _REACH, _SPREAD, role="length", family=family)
            for name, scale in scales.items()
        )

    def metric(self, d: int) -> Metric:
        plain = super().metric(d)
        if not isinstance(self.sigma, tuple):
            return plain
        return replace(plain, scale=1.0 / np.asarray(self.sigma))

    def with_pullback(self, X: Floats, Y: Other = None) -> Pulled:
        left, right = self._pair_in_units(X, Y)
        values, radial = self._with_radial(left, right)
        return values, partial(self._slopes, left, right, values, radial)

    def _summand(self, d: int) -> Summand:
        rate, terms = self._profile()
        measure = "city block" if self._city_block else "distance"
        scale = np.ones(d) / given(self, "sigma")
        return Summand(measure, 1.0, scale, rate, (terms[0], terms[-1]))

    def _with_radial(self, X: Floats, Y: Other) -> tuple[Floats, Floats]:
        """Return values and -2 dk / d(r^2), or -dk/dr for city blocks, in units of sigma."""
        rate, terms = self._profile()
        found = of_distances(X, Y, city_block=self._city_block, rate=rate, terms=terms)
        return found[0], found[-1]

    def _slopes(
        self, X: Floats, Y: Other, values: Floats, radial: Floats, by_values: Floats
    ) -> Slopes:
        """Return the derivatives for inputs in units of sigma, given those by the values."""
        sums = sums_of_differences(X, Y, by_values, radial, city_block=self._city_block)
        return self._named(sums), -sums

    def _named(self, by_scales: Floats) -> dict[str, float]:
        """Return derivatives by name, given those by a log length scale for each feature."""
        if isinstance(self.sigma, tuple):
            return {f"sigma[{k}]": slope for k, slope in enumerate(by_scales.tolist())}
        return {"sigma": float(by_scales.sum())}

    def diag_with_pullback(self, X: Floats) -> Pulled:
        none = np.zeros(X.shape[1])
        slopes = self._named(none), none
        return np.ones(X.shape[0]), lambda by_diag: slopes

    def _pair_in_units(self, X: Any, Y: Any | None) -> tuple[Any, Any | None]:
        units = units_of(given(self, "sigma"), X)
        left, _ = self._in_units(X, units, "X")
        return left, None if Y is None else self._in_units(Y, units, "Y")[0]

    def _in_units(self, X: Any, units: Floats, names: str) -> tuple[Any, Floats]:
        """Return the rows of the arguments `names` in units, and their squared lengths."""
        with np.errstate(over="ignore"):
            scaled = divided(X, units)
        lengths = squares(scaled)
        # Differences of infinite lengths would be NaN.
        if not lengths.max(initial=0.0) < _MAX_LENGTH:
            raise ValueError(
                f"sigma must not be so small relative to {names} that distances overflow; got "
                f"{self.sigma}"
            )
        return scaled, lengths


@dataclass(frozen=True, repr=False)
class RBF(Stationary):
    """The Gaussian kernel ``k(x, x') = exp(-|x - x'|^2 / (2 sigma^2))``.

    Parameters
    ----------
    sigma : float or array-like of shape (n_features,), default=None
        Length scale, positive, or one for each feature. None: found.
    per_feature : bool, default=False
        Find a length scale for each feature, automatic relevance determination: large if useless.
    bounds : pair of floats, default=None
        Bounds of length scales that are found. None: the start times exp(-4) and exp(5); it is
        ``sqrt(n_features Var(x) / 2)`` with the variance of all inputs, or of each feature.
    """

    accepts_sparse = True

    def _values(self, X: Any, Y: Any | None) -> Floats:
        if isinstance(X, Mixed):
            [values] = of_distances(*self._pair_in_units(X, Y), terms=((0.0, 0.0, -0.5),))
            for rows in validation.blocks(len(values)):
                _exponential(values[rows])
            return values
        units = units_of(given(self, "sigma"), X)
        X, other = in_rows(X), in_rows(X if Y is None else Y)
        is_sparse = sparse.issparse(X) or sparse.issparse(other)
        if not is_sparse:
            # An origin in the data reduces rounding; sparse rows cannot be shifted: see below.
            origin = other.mean(axis=0) if len(other) else 0.0
            other = other - origin
            X = other if Y is None else X - origin
        names = "X" if Y is None else "X and Y"  # the origin depends on Y
        right, half_right = self._in_units(other, units, names)
        left, half_left = (right, half_right) if Y is None else self._in_units(X, units, names)
        gram = inner(left, None if Y is None else right)
        half_left, half_right = half_left / 2, half_right / 2
        long = is_sparse and half_left.max(initial=0.0) + half_right.max(initial=0.0) > _LONG
        for rows in validation.blocks(len(gram), _CACHED_VALUES // max(1, len(half_right))):
            block = gram[rows]
            block -= np.add.outer(half_left[rows], half_right)
            np.minimum(block, 0.0, out=block)
            if long:
                _recompute_rounded(block, X[rows], other, units, half_left[rows], half_right)
            _exponential(block)
        if Y is None:
            np.fill_diagonal(gram, 1.0)
        return gram

    def with_pullback(self, X: Any, Y: Any | None = None) -> Pulled:
        values = self._values(X, Y)

        def pullback(by_values: Floats) -> Slopes:
            is_sparse = sparse.issparse(X) or sparse.issparse(Y)
            if is_sparse and not isinstance(self.sigma, tuple):  # without dense rows
                return {"sigma": -2 * float(np.vdot(by_values, xlogy(values, values)))}, None
            units = units_of(given(self, "sigma"), X)
            left = divided(_dense(X), units)
            right = None if Y is None else divided(_dense(Y), units)
            return self._slopes(left, right, values, values, by_values)

        return values, pullback


def _recompute_rounded(
    block: Floats, X: Any, Y: Any, units: Floats, half_left: Floats, half_right: Floats
) -> None:
    """Recompute exponents that are small relative to the lengths of rows, and so lost digits."""
    lengths = np.add.outer(half_left, half_right)
    lost = (lengths > _LONG) & (block > _NEGLIGIBLE - _ROUNDING * lengths)
    all_i, all_j = np.nonzero(lost)
    for pairs in validation.blocks(len(all_i), _BLOCK_PAIRS):
        i, j = all_i[pairs], all_j[pairs]
        left, right = X[i], Y[j]
        if sparse.issparse(left) != sparse.issparse(right):
            left, right = sparse.csr_matrix(left), sparse.csr_matrix(right)
        block[i, j] = squares(divided(left - right, units)) / -2


@dataclass(frozen=True, repr=False)
class Laplacian(Stationary):
    """The kernel ``k(x, x') = exp(-sum_k |x_k - x'_k| / sigma_k)``.

    Parameters
    ----------
    sigma, per_feature, bounds
        Length scale, as for `RBF`.
    """

    _city_block = True

    def summands(self, d: int) -> Summands:
        return (self._summand(d),)

    def _profile(self) -> _Profile:
        return 1.0, ((1.0, 0.0, 0.0),)


@dataclass(frozen=True, repr=False)
class Matern(Stationary):
    """The Matérn kernel, of functions that can be differentiated a given number of times.

    With ``r = |x - x'| / sigma``, differences divided feature by feature, it is ``exp(-r)`` for
    nu = 1/2, ``(1 + s) exp(-s)`` with ``s = sqrt(3) r`` for nu = 3/2 and ``(1 + s + s^2 / 3)
    exp(-s)`` with ``s = sqrt(5) r`` for nu = 5/2 (Rasmussen and Williams, 2006, Eq. 4.17).

    Parameters
    ----------
    sigma, per_feature, bounds
        Length scale, as for `RBF`.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness: the functions can be differentiated 0, 1 or 2 times.
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        nu = validation.number("nu", self.nu, wanted="0.5, 1.5 or 2.5")
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5; got {nu!r}")
        validation.set_fields(self, nu=nu)

    def summands(self, d: int) -> Summands:
        return (self._summand(d),) if self.nu > 1 else ()  # else dk / d(r^2) is infinite at 0

    def _profile(self) -> _Profile:
        rate = math.sqrt(2 * self.nu)
        if self.nu < 1:
            return rate, ((1.0, 0.0, 0.0),)
        if self.nu < 2:
            return rate, ((1.0, rate, 0.0), (3.0, 0.0, 0.0))
        return rate, ((1.0, rate, 5 / 3), (5 / 3, 5 / 3 * rate, 0.0))

    def _with_radial(self, X: Floats, Y: Other) -> tuple[Floats, Floats]:
        values, radial = super()._with_radial(X, Y)
        if self.nu < 1:  # 0 at r = 0, where it is multiplied by 0
            [distances] = of_distances(X, Y)
            radial = np.divide(values, distances, out=np.zeros_like(values), where=distances > 0)
        return values, radial


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    """The rational quadratic kernel, a mixture of RBF kernels of many length scales.

    ``k(x, x') = (1 + r^2 / (2 alpha)) ** -alpha`` with ``r = |x - x'| / sigma``, differences
    divided feature by feature. It is the mean of RBF kernels whose ``1 / length scale^2`` has a
    gamma distribution of shape alpha and mean ``1 / sigma^2`` (Rasmussen and Williams, 2006,
    Eq. 4.19); for large alpha it approaches the RBF kernel.

    Parameters
    ----------
    sigma, per_feature, bounds
        Length scale, as for `RBF`.
    alpha : float, default=None
        Mixture exponent, positive: the smaller, the more scales differ. None: found, from 1 on.
    alpha_bounds : pair of floats, default=None
        Bounds of an exponent that is found. None: 0.02 and 150.
    """

    alpha: float | None = None
    _: KW_ONLY
    alpha_bounds: Bounds | None = None

    _until = (*Stationary._until, ("alpha_bounds", "alpha"))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(self, "alpha", "alpha_bounds")

    def _values(self, X: Floats, Y: Other) -> Floats:
        return self._with_radial(*self._pair_in_units(X, Y))[0]

    def _with_radial(self, X: Floats, Y: Other) -> tuple[Floats, Floats]:
        alpha: float = given(self, "alpha")
        [ratio] = of_distances(X, Y, terms=((0.0, 0.0, 1.0),))
        values = np.empty_like(ratio)
        for rows in validation.blocks(len(ratio), _CACHED_VALUES // max(1, ratio.shape[1])):
            ratio[rows] /= 2 * alpha
            block = np.log1p(ratio[rows], out=values[rows])  # accurate where values are near 1
            block *= -alpha
            _exponential(block)
        ratio += 1
        return values, np.divide(values, ratio, out=ratio)

    def parameters(self, X: Floats) -> Parameters:
        """Return the length scales as for other kernels of distances, and the exponent."""
        alpha = within(self.alpha_bounds, "alpha", 1.0, (0.02, 150.0))
        return super().parameters(X) + ((alpha,) if self.alpha is None else ())

    def _slopes(
        self, X: Floats, Y: Other, values: Floats, radial: Floats, by_values: Floats
    ) -> Slopes:
        named, by_weights = super()._slopes(X, Y, values, radial, by_values)
        # With u = r^2 / (2 alpha) it is alpha k (u / (1 + u) - log(1 + u)).
        by_alpha = given(self, "alpha") * (values - radial) + xlogy(values, values)
        return {**named, "alpha": float(np.vdot(by_values, by_alpha))}, by_weights

    def _named(self, by_scales: Floats) -> dict[str, float]:
        return super()._named(by_scales) | {"alpha": 0.0}


def scale_of(X: Any) -> float:
    """Return ``sqrt(d Var(X) / 2)``, scikit-learn's gamma="scale"; for constant X ``sqrt(0.5)``."""
    return _spread(X) or math.sqrt(0.5)


def _spread(X: Any) -> float:
    """Return ``sqrt(d Var(X) / 2)``; that of a category is of the indicators of its levels."""
    if isinstance(X, Mixed):
        levels = X.categories
        counts = [np.unique(codes, return_counts=True)[1] for codes in levels.values.T]
        apart = [1 - float(np.square(n / len(X)).sum()) for n in counts]
        sizes = levels.limits * np.sqrt(apart) / 2
        return math.hypot(_spread(X.numbers), *sizes.tolist())
    is_sparse = sparse.issparse(X)
    values = X.data if is_sparse else X
    # Divide X by a power of two, which does not round, or its squares could over- or underflow.
    largest = float(np.abs(values).max(initial=0.0))
    size = 2.0 ** (math.frexp(largest)[1] - 1)
    if not values.size:
        variance = 0.0
    elif is_sparse:
        n = math.prod(X.shape)
        mean = float((values / size).sum()) / n
        stored = float(((values / size - mean) ** 2).sum()) / n
        variance = stored + (1.0 - values.size / n) * mean**2  # of the entries that are not stored
    else:
        variance = float((X / size).var())
    return size * math.sqrt(X.shape[1] * variance / 2)


def class_distance(X: ArrayLike, y: ArrayLike) -> float:
    """Return the distance between the closest two examples of different classes.

    A good length scale is of this size: far smaller ones overfit (Crowley, 2018).

    Parameters
    ----------
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Inputs, finite, and labels of at least two classes.

    Returns
    -------
    float
        Positive. Equal examples of different classes raise ValueError.
    """
    points = vectors("X", validation.dense("X", X))
    labels = validation.labels("y", y)
    if labels.shape != (len(points),):
        raise ValueError(f"y must have shape ({len(points)},); got shape {labels.shape}")
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got {len(classes)}")
    smallest = math.inf
    for rows in validation.blocks(len(points)):
        apart = distance.cdist(points[rows], points)
        apart[index[rows, None] == index] = math.inf
        smallest = min(smallest, float(apart.min()))
    if smallest == 0:
        raise ValueError(
            "X must hold examples of different classes at different places; two of them coincide"
        )
    return smallest
