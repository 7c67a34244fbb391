"""Warnings that refer to the user's line."""

from __future__ import annotations

import os
import sys
import warnings

import sklearn

_SKIPPED = tuple(
    os.path.join(os.path.dirname(os.path.abspath(file)), "")
    for file in (os.path.dirname(__file__), str(sklearn.__file__))
)
"""Folders of this package and of scikit-learn, whose pipelines and searches call `fit`."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the location of the nearest caller outside this package and scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
