"""Work for other processes, which must have the same build of this package."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import pickle
from pathlib import Path
from typing import Any


@functools.cache
def build() -> str:
    """Return the version of this package and a digest of its compiled module."""
    spec = importlib.util.find_spec("bayespoint._core")
    assert spec is not None
    assert spec.origin is not None
    digest = hashlib.blake2b(Path(spec.origin).read_bytes(), digest_size=6).hexdigest()
    return f"{importlib.metadata.version('bayespoint')} ({digest})"


def pack(content: Any) -> bytes:
    """Return an object as bytes: arrays from a network may be unaligned."""
    return pickle.dumps((build(), pickle.dumps(content, protocol=5)), protocol=5)


def unpack(parcel: bytes) -> Any:
    """Return the object, or raise RuntimeError if another build made it."""
    theirs, content = pickle.loads(parcel)
    if theirs != build():
        raise RuntimeError(
            f"a worker has bayespoint {build()}, but this fit was begun by {theirs}: with another "
            "build it would have other draws. Install the same one everywhere"
        )
    return pickle.loads(content)
