"""Types of the compiled engine: calls on a problem, settings and NumPy arrays.

Everything here is checked a second time by the engine, but the package never calls it directly
except from :mod:`bayespoint.version_space`.
"""

from collections.abc import Callable, Iterable
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray
from typing_extensions import NotRequired

from bayespoint.engine.problem import Problem as _Problem
from bayespoint.engine.settings import SampleSettings as _Settings

__all__ = [
    "InfeasibleError",
    "__version__",
    "correlation",
    "evidence",
    "feasible_point",
    "light_trap",
    "max_margin",
    "onion",
    "perceptron",
    "run",
    "take_step",
]

__version__: str

class _Progress(TypedDict):
    length: float
    bounces: int
    center_error: float

class _State(TypedDict):
    bytes: NDArray[np.uint8]
    draws: NDArray[np.float64]
    functionals: NDArray[np.float64]
    held: NDArray[np.uint64]
    kept: NDArray[np.uint64]

class _Run(TypedDict):
    center: NDArray[np.float64]
    center_norm: float
    running_center: NotRequired[NDArray[np.float64]]
    impulse_center: NDArray[np.float64]
    draws: NDArray[np.float64]
    spacing: float
    bounces: NDArray[np.uint64]
    crossings: NDArray[np.uint64]
    refreshes: NDArray[np.uint64]
    escapes: NDArray[np.uint64]
    scatterings: NDArray[np.uint64]
    scatterer: float | None
    length: float
    settled: float
    cycles: NDArray[np.uint64]
    missed: NDArray[np.float64]
    hits: NDArray[np.uint64]
    stop_reason: Literal["length", "max_bounces", "tol", "weight_tol"]
    center_error: float
    watched: NDArray[np.int64]
    functionals: NDArray[np.float64]
    mean_violations: float
    refresh: Literal["pair", "full", "none"]
    refresh_rate: float
    drift: float
    start: list[str]
    state: _State | None

class _Correlation(TypedDict):
    pair_bounces: NDArray[np.uint64]
    pair_lengths: NDArray[np.float64]
    parted: NDArray[np.bool_]
    scatterer: float | None

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
    bias: float
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

class _Evidence(TypedDict):
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    ladder: NDArray[np.float64]
    mean_violations: NDArray[np.float64]
    log_share: NDArray[np.float64]
    layers: NDArray[np.int64]
    layer_shares: NDArray[np.float64]
    lags: NDArray[np.float64]
    length: float
    converged: bool

class _Onion(TypedDict):
    centers: NDArray[np.float64]
    center_norm: NDArray[np.float64]
    center_error: NDArray[np.float64]
    path_length: NDArray[np.float64]
    log_volume: NotRequired[NDArray[np.float64]]
    log_volume_error: NotRequired[NDArray[np.float64]]
    layers: NDArray[np.int64]
    layer_log_shares: NDArray[np.float64]
    length: float
    converged: bool

class InfeasibleError(ValueError):
    """No unit vector satisfies every example.

    Attributes
    ----------
    violations : int
        Fewest violated examples of all weight vectors tried.
    margin_bound : float
        Upper bound of the margin by weak duality, relative to the longest feature vector.
    certificate : ndarray of shape (m,)
        Weights a >= 0 of sum 1 whose combination sum a_i y_i phi_i is as short as the bound.
    """

    violations: int
    margin_bound: float
    certificate: NDArray[np.float64]

def run(
    problem: _Problem,
    settings: _Settings,
    *,
    start: NDArray[np.float64] | None,
    seed: int,
    n_threads: int,
    state: _State | None,
    checkpoint: Callable[[_State], object] | None,
    every: float,
    callback: Callable[[_Progress], object] | None,
    executor: Callable[[bytes, list[bytes], _Progress], Iterable[bytes]] | None,
) -> _Run: ...
def take_step(problem: _Problem, order: bytes, trajectory: bytes) -> bytes: ...
def correlation(
    problem: _Problem,
    *,
    angle: float,
    n_trajectories: int,
    n_pairs: int,
    max_bounces: int,
    dynamics: object,
    n_threads: int,
    seed: int,
    callback: Callable[[_Progress], object] | None,
) -> _Correlation: ...
def feasible_point(
    problem: _Problem,
    *,
    method: str,
    seed: int,
    callback: Callable[[_Progress], object] | None,
) -> _FeasiblePoint: ...
def light_trap(
    problem: _Problem,
    *,
    seed: int,
    callback: Callable[[_Progress], object] | None,
) -> _LightTrap: ...
def max_margin(
    problem: _Problem,
    *,
    cost: float,
    free_bias: bool,
    tol: float,
    max_iter: int,
    callback: Callable[[_Progress], object] | None,
) -> _MaxMargin: ...
def perceptron(
    problem: _Problem,
    *,
    order: NDArray[np.int64],
    rate: float,
    max_epochs: int,
    callback: Callable[[_Progress], object] | None,
) -> _Perceptron: ...
def evidence(
    problem: _Problem,
    *,
    method: str,
    transparencies: list[tuple[float, float]],
    tol: float,
    max_length: float,
    n_trajectories: int,
    n_threads: int,
    seed: int,
    callback: Callable[[_Progress], object] | None,
) -> _Evidence: ...
def onion(
    problem: _Problem,
    *,
    max_errors: tuple[int, int],
    method: str,
    tol: float,
    volume_tol: float | None,
    max_length: float,
    n_trajectories: int,
    n_threads: int,
    seed: int,
    callback: Callable[[_Progress], object] | None,
) -> _Onion: ...
