"""Runs that give the layers of an onion."""

from __future__ import annotations

from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback
from bayespoint.papers.compiled import OnionSettings, layers
from bayespoint.papers.onion.table import OnionTable
from bayespoint.plotting.style import check_type
from bayespoint.version_space import VersionSpace


def onion(
    space: VersionSpace,
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
    space : VersionSpace
        Version space of two classes.
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
        Path in radians per trajectory at which to stop in any case, positive.
    n_trajectories : int, default=4
        Number of independent trajectories, at least 1.
    n_jobs, random_state, callback
        As for :meth:`VersionSpace.sample`; ``center_error`` is the largest of all layers.

    Returns
    -------
    OnionTable
        Centers with their errors, paths and volumes.

    Raises
    ------
    InfeasibleError, FloatingPointError, MemoryError
        See the notes of :class:`VersionSpace`; InfeasibleError only with "projected".

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

    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.onion import onion
    >>> space = VersionSpace(np.eye(3), [1, 1, -1])
    >>> table = onion(space, (1, 0), random_state=0)
    >>> bool(np.abs(table.center(0, 0) - [0.577, 0.577, -0.577]).max() < 0.1)
    True
    >>> bool(np.abs(table.center(1, 0) - [0.577, 0.577, 0.577]).max() < 0.1)
    True
    """
    pair = validation.pair("max_errors", max_errors, validation.integer)
    settings = OnionSettings(pair, method, tol, volume_tol, max_length, n_trajectories)
    check_type("space", space, VersionSpace)
    problem = space.problem
    problem.require_binary("an onion, whose layers count the errors of each class")
    threads, seed = validation.threads(n_jobs), validation.seed(random_state)
    run = layers(problem, settings, n_threads=threads, seed=seed, callback=callback)
    table = OnionTable.from_run(run, problem, settings, space.classes)
    for message in table.convergence_messages(settings.tol, settings.volume_tol):
        warn(message)
    return table
