"""How much memory there is, and a refusal before more is asked for than that."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")

_VECTORS = 100
"""Doubles for each example that the engine asks room for before a trajectory flies, draws aside."""

_LITTLE = 2 * 2**20
"""Bytes that are granted without a look: to look takes as long as small problems do."""


def readable(n_bytes: float) -> str:
    """Return a number of bytes as text, for instance ``'1.5 GiB'``."""
    size = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def available() -> int:
    """Return the bytes this process may still take.

    The smallest of what the machine has available, what the control groups (version 2 or 1) this
    process runs in still allow, and what limits of its own (``ulimit -v``) leave.
    """
    free = int(psutil.virtual_memory().available)
    for room in (_cgroup_v2_room(), _cgroup_v1_room(), limited()):
        if room is not None:
            free = min(free, room)
    return max(free, 0)


def require(n_bytes: float, what: str) -> None:
    """Raise MemoryError if `n_bytes` are more than the memory available, and not very few.

    Call it before allocating: `what` says in a few words what the memory is for.
    """
    if n_bytes <= _LITTLE:
        return
    free = available()
    if n_bytes > free:
        raise MemoryError(
            f"{what} needs {readable(n_bytes)}, but only {readable(free)} of memory is available"
        )


def balls(n_trajectories: int, m: int) -> float:
    """Return the bytes that so many trajectories take in a version space of m examples."""
    return 8.0 * _VECTORS * n_trajectories * m


def limited() -> int | None:
    """Return the bytes that limits of the address space and of data leave, if there are any.

    On Linux alone: elsewhere they are not kept to, or the address space says nothing of memory.
    """
    if sys.platform != "linux":
        return None
    import resource

    limits = {
        used: resource.getrlimit(limit)[0]
        for used, limit in (("vms", resource.RLIMIT_AS), ("data", resource.RLIMIT_DATA))
    }
    if all(limit == resource.RLIM_INFINITY for limit in limits.values()):
        return None
    info = psutil.Process().memory_info()
    return min(
        max(limit - int(getattr(info, used)), 0)
        for used, limit in limits.items()
        if limit != resource.RLIM_INFINITY
    )


def _cgroup_paths() -> dict[str, str]:
    """Return the control groups of this process: controller (empty for version 2) to path."""
    groups: dict[str, str] = {}
    try:
        text = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return groups
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # missing, or "max": no limit
        return None


def _statistic(path: Path, name: str) -> int:
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    except (OSError, ValueError):
        pass
    return 0


def _room(folder: Path, limit_file: str, usage_file: str, reclaimable: str) -> int | None:
    limit, usage = _number(folder / limit_file), _number(folder / usage_file)
    if limit is None or usage is None:
        return None
    # File pages nobody uses count as usage, but the kernel gives them back on demand.
    return limit - usage + _statistic(folder / "memory.stat", reclaimable)


def _cgroup_v2_room() -> int | None:
    path = _cgroup_paths().get("")
    if path is None:
        return None
    rooms = []
    folder = _CGROUP / path.lstrip("/")
    while True:  # a parent's limit holds for its children too
        room = _room(folder, "memory.max", "memory.current", "inactive_file")
        if room is not None:
            rooms.append(room)
        if folder == _CGROUP or _CGROUP not in folder.parents:
            return min(rooms, default=None)
        folder = folder.parent


def _cgroup_v1_room() -> int | None:
    path = _cgroup_paths().get("memory")
    if path is None:
        return None
    rooms = []
    # Inside a container the group's own path is often mounted as the root.
    for folder in (_CGROUP / "memory" / path.lstrip("/"), _CGROUP / "memory"):
        room = _room(
            folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        )
        if room is not None:
            rooms.append(room)
    return min(rooms, default=None)
