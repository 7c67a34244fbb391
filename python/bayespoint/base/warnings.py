"""Warnings that refer to the user's line."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import sklearn

Messages: TypeAlias = list[tuple[str, type[Warning]]]

_FILES = (os.path.dirname(__file__), str(sklearn.__file__))
_SKIPPED = tuple(os.path.join(os.path.dirname(os.path.abspath(file)), "") for file in _FILES)
"""Folders of this package and of scikit-learn, whose pipelines and searches call `fit`."""

_local = threading.local()


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the location of the nearest caller outside this package and scikit-learn."""
    if (kept := getattr(_local, "messages", None)) is not None:
        kept.append((message, category))
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_warnings() -> Iterator[Messages]:
    """Keep the warnings of this thread, for another that has the user's line on its stack."""
    _local.messages = []
    try:
        yield _local.messages
    finally:
        del _local.messages
