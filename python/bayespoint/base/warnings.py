"""Warnings that point to the line of the user's that led to them."""

from __future__ import annotations

import os
import sys
import warnings

import sklearn

_PASSED_BY = tuple(
    os.path.join(os.path.dirname(os.path.abspath(file)), "")
    for file in (__file__, str(sklearn.__file__))
)
"""Whose frames are between: ours, and those of a pipeline or a search, which hands fits on."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn as at the nearest frame that is neither of this package nor of scikit-learn.

    Parameters
    ----------
    message : str
        The text.
    category : type of Warning
        What it is.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PASSED_BY):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
