"""A check that large arrays fit into memory, before they are allocated."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import psutil
from scipy import linalg

try:
    import resource
except ImportError:  # Windows, which has no such limits
    resource = None  # type: ignore[assignment]

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")
_MIN_CHECKED_BYTES = 2 * 2**20  # less is not checked: the check takes as long as a small problem


_FIRST_USE = 120 * 2**20  # address space of the BLAS of NumPy and SciPy: a buffer each thread

_used_in = 0  # the process in which they have been used


def require_blas() -> None:
    """Raise MemoryError if BLAS has no address space for its first use: it would hang or crash."""
    global _used_in
    if resource is None or _used_in == os.getpid():
        return
    if (free := _address_space()) < _FIRST_USE:
        raise MemoryError(
            f"linear algebra needs {readable(_FIRST_USE)} of address space at its first use, "
            f"but the limit of this process (ulimit -v) leaves {readable(free)}"
        )
    matrix = np.eye(100) + 0.01
    linalg.cholesky(matrix @ matrix)
    _used_in = os.getpid()


def require(n_bytes: float, what: str, advice: str = "") -> None:
    """Raise MemoryError if less than the `n_bytes` that `what` needs are available."""
    if n_bytes > _MIN_CHECKED_BYTES and n_bytes > (free := available()):
        raise MemoryError(
            f"{what} needs {readable(n_bytes)}, but only {readable(free)} of memory is available"
            + (f". {advice}" if advice else "")
        )


def _address_space() -> float:
    """Return the bytes that the limit of this process (ulimit -v) leaves."""
    if resource is None:
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    return max(limit - psutil.Process().memory_info().vms, 0)


def available() -> int:
    """Return the bytes available to this process, on the machine and in its limits.

    Limits are that of its address space and those of its control groups (v2).
    """
    free = int(min(psutil.virtual_memory().available, _address_space()))
    try:
        groups = _OWN_CGROUP.read_text(encoding="utf-8").splitlines()
    except OSError:
        return free
    own = [_CGROUPS / line.removeprefix("0::/") for line in groups if line.startswith("0::/")]
    for group in (*own[:1], *(own[0].parents if own else ())):  # a parent's limit holds below it
        try:
            limit = int((group / "memory.max").read_text(encoding="utf-8"))
            used = int((group / "memory.current").read_text(encoding="utf-8"))
            statistics = (group / "memory.stat").read_text(encoding="utf-8").split()
            # Cached pages of inactive files count as used, but are freed on demand.
            used -= int(statistics[statistics.index("inactive_file") + 1])
        except (OSError, ValueError):  # no such file, or "max"
            continue
        free = min(free, max(limit - used, 0))
    return free


def readable(n_bytes: float) -> str:
    """Return a number of bytes as text, for instance ``'1.5 GiB'``."""
    size, units = float(n_bytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"
