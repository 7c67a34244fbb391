"""Types of the compiled engine: calls on a problem, settings and NumPy arrays.

Only `bayespoint.engine`, `bayespoint.kernels`, `bayespoint.landmarks`, `bayespoint.results` and
`bayespoint.papers` call it. Ranges of settings are checked here alone, all else is checked a second
time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from bayespoint.engine.laws import Observed as _Observed
from bayespoint.engine.problem import Problem as _Problem
from bayespoint.kernels.one_pass import Coefficients as _Coefficients
from bayespoint.kernels.products import Summand as _Summand
from bayespoint.landmarks.block import BlockSums as _BlockSums
from bayespoint.landmarks.features import Propagation as _Propagation

__all__ = [
    "InfeasibleError",
    "KernelSum",
    "Posteriors",
    "Predictor",
    "SoftBalls",
    "SumPlan",
    "__version__",
    "check_settings",
    "correlation",
    "effective_size",
    "evidence",
    "feasible_point",
    "fly",
    "largest_probabilities",
    "law_derivatives",
    "light_trap",
    "log_likelihoods",
    "max_margin",
    "onion",
    "perceptron",
    "propagation",
    "r_hat",
    "run",
    "sums_of_differences",
    "tall_product",
    "values_of_distances",
    "whiten",
]

__version__: str

_Settings: TypeAlias = dict[str, Any]
"""Settings by their names in the engine: those of `bayespoint.engine.settings`, seed, threads."""

_Found: TypeAlias = dict[str, Any]
"""What a run found, by the names of the fields in `bayespoint.results`."""

class _Progress(TypedDict):
    length: float
    bounces: int
    center_error: float

_Callback: TypeAlias = Callable[[_Progress], object] | None

class _FeasiblePoint(TypedDict):
    dual_coef: NDArray[np.float64]
    method: str

class _LightTrap(TypedDict):
    dual_coef: NDArray[np.float64]
    errors: NDArray[np.int64]
    bounces: NDArray[np.uint64]
    caught: bool

class _MaxMargin(TypedDict):
    dual_coef: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    norm: float
    margin: float
    bound: float
    gap: float
    kkt: float
    iterations: int
    converged: bool

class _Perceptron(TypedDict):
    dual_coef: NDArray[np.float64]
    mistakes: int
    epochs: int
    converged: bool

@final
class SoftBalls:
    def __new__(
        cls, dimension: int, n_balls: int, freedom: float, seed: int, n_rising: int
    ) -> Self: ...
    def steps(
        self,
        n_steps: int,
        mean: NDArray[np.float64],
        root: NDArray[np.float64],
        walls: _BlockSums,
    ) -> _Found: ...

@final
class Posteriors:
    def by_values(
        self,
        factors: NDArray[np.float64],
        features: NDArray[np.float64],
        by_variances: NDArray[np.float64],
        *,
        is_triangle: bool,
        share: float,
        by_mean: float,
    ) -> NDArray[np.float64]: ...

@final
class KernelSum:
    def slopes(
        self, by_values: NDArray[np.float64], by_own: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

@final
class SumPlan:
    def __new__(
        cls,
        landmarks: NDArray[np.float64],
        examples: NDArray[np.float64],
        limits: Sequence[float],
        parts: Sequence[_Summand],
    ) -> Self: ...
    @property
    def n_features(self) -> int: ...
    def sum(
        self, factors: list[float], scales: NDArray[np.float64]
    ) -> tuple[KernelSum, NDArray[np.float64], NDArray[np.float64]]: ...

@final
class Predictor:
    def __new__(
        cls, points: NDArray[np.float64], limits: Sequence[float], models: Sequence[_Coefficients]
    ) -> Self: ...
    def moments(
        self, points: NDArray[np.float64], *, variances: bool, n_threads: int
    ) -> NDArray[np.float64]: ...

class InfeasibleError(ValueError):
    what: str
    advice: str
    violations: int
    margin_bound: float
    certificate: NDArray[np.float64]

def check_settings(kind: str, values: _Settings) -> None: ...
def run(
    problem: _Problem,
    settings: _Settings,
    *,
    start: NDArray[np.float64] | None,
    state: Mapping[str, Any] | None,
    callback: _Callback,
) -> _Found: ...
def correlation(problem: _Problem, settings: _Settings, callback: _Callback) -> _Found: ...
def feasible_point(
    problem: _Problem, method: str, seed: int, callback: _Callback
) -> _FeasiblePoint: ...
def effective_size(draws: NDArray[np.float64]) -> list[float]: ...
def fly(
    problem: _Problem,
    settings: _Settings,
    *,
    start: NDArray[np.float64] | None,
    callback: _Callback,
) -> _Found: ...
def largest_probabilities(behind: NDArray[np.float64]) -> NDArray[np.float64]: ...
def law_derivatives(
    labels: _Observed, contrasts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def log_likelihoods(
    labels: _Observed,
    values: list[NDArray[Any]],
    trials: tuple[NDArray[np.int64], NDArray[np.float64]],
    *,
    by_contrast: bool,
) -> NDArray[np.float64]: ...
def light_trap(problem: _Problem, seed: int, callback: _Callback) -> _LightTrap: ...
def max_margin(problem: _Problem, settings: object, callback: _Callback) -> _MaxMargin: ...
def perceptron(
    problem: _Problem, settings: object, order: NDArray[np.int64], callback: _Callback
) -> _Perceptron: ...
def evidence(problem: _Problem, settings: _Settings, callback: _Callback) -> _Found: ...
def onion(problem: _Problem, settings: _Settings, callback: _Callback) -> _Found: ...
def tall_product(rows: NDArray[Any], given: NDArray[Any], *, sums: bool) -> NDArray[Any]: ...
def values_of_distances(
    X: NDArray[np.float64],
    Y: NDArray[np.float64] | None,
    city_block: bool,
    rate: float,
    terms: Sequence[tuple[float, float, float]],
    out: NDArray[np.float64],
    limits: Sequence[float],
) -> None: ...
def sums_of_differences(
    X: NDArray[np.float64],
    Y: NDArray[np.float64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    *,
    city_block: bool,
    limits: Sequence[float],
) -> NDArray[np.float64]: ...
def whiten(
    matrix: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def r_hat(draws: NDArray[np.float64]) -> list[float]: ...
def propagation(
    features: NDArray[np.float64],
    level: NDArray[np.float64],
    positive: NDArray[np.bool_],
    noise: tuple[float, float],
    *,
    intervals: NDArray[np.float64] | None,
    start: _Propagation | None,
    change: float,
    n_threads: int,
) -> _Found: ...
