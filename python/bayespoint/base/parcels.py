"""Work for other processes, which must have the same build of this package."""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from pathlib import Path
from typing import Any


@functools.cache
def build() -> str:
    """Return the version of this package and a digest of its modules, also the compiled one."""
    package = sys.modules["bayespoint"]
    digest, folder = hashlib.blake2b(digest_size=6), Path(str(package.__file__)).parent
    for file in sorted([*folder.rglob("*.py"), *folder.glob("_core.*[dos]")]):
        digest.update(file.read_bytes())
    return f"{package.__version__} ({digest.hexdigest()})"


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
