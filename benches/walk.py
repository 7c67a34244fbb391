"""The way of `X` and `y` through a fit: which folders receive them, and whether one does twice.

    python benches/walk.py

A folder receives the examples if one of its functions is called with them as an argument: with the
arrays of the caller, copies of their rows that the fit makes, or an object that holds these. It is
a return if such a call leads into a folder in which an earlier call on the stack is not finished:
the call went on to another folder and came back. A fit calls `fit_model` once for each model.
"""

import sys
from pathlib import Path

import dask.array
import numpy as np

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.blocks import Blocks
from bayespoint.data.examples import Examples, Table
from bayespoint.kernels import RBF
from bayespoint.landmarks.basis import Basis

PACKAGE = Path(bayespoint.__file__).parent


def folder(path):
    """Return the folder of the package that a source file is in; None for other files."""
    try:
        parts = Path(path).relative_to(PACKAGE).parts
    except ValueError:
        return None
    return parts[0].removesuffix(".py")


class Walk:
    """What receives the examples while a fit runs."""

    def __init__(self, data):
        self.data = data
        self.stack, self.folders, self.returns, self.models = [], [], [], 0

    def holds(self, value):
        """Return whether a value is one of the arrays, holds one, or is made of their rows."""
        if isinstance(value, (Examples, Table, Basis, Blocks)):
            return True
        if any(value is one for one in self.data):
            return True
        return isinstance(value, np.ndarray) and value.shape[:1] == self.data[0].shape[:1]

    def __call__(self, frame, event, arg):
        """Follow calls, as `sys.setprofile` asks for it."""
        if event == "return":
            if self.stack and self.stack[-1][0] is frame:
                self.stack.pop()
            return
        if event != "call":
            return
        room, code = folder(frame.f_code.co_filename), frame.f_code
        self.models += code.co_name == "fit_model" and room == "posterior"
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if (
            room is None
            or room == "base"
            or not any(self.holds(frame.f_locals.get(name)) for name in names if name != "self")
        ):
            return
        before = [one for _, one in self.stack]
        if room in before and before[-1] != room:
            self.returns.append(f"{before[-1]} to {room} ({code.co_name})")
        if room not in self.folders:
            self.folders.append(room)
        self.stack.append((frame, room))


def walk(name, model, X, y):
    """Print the folders that receive the examples of a fit."""
    steps = Walk((X, y))
    sys.setprofile(steps)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    again = sorted(set(steps.returns))
    print(f"{name}: {steps.models} calls of fit_model; {len(steps.folders)} folders: ", end="")
    print(", ".join(steps.folders) + f"; {len(again)} returns", *again, sep="\n  ")


def main():
    """Walk through five fits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    one = {"random_state": 0, "n_jobs": 1}
    walk("default", BayesPointClassifier(**one), X, y)
    walk("one model", BayesPointClassifier(n_models=1, **one), X, y)
    few = {"kernel": RBF(), "n_components": 20, "tol": 0.5, **one}  # a short walk
    walk("landmarks", BayesPointClassifier(approximation="landmarks", **few), X, y)
    walk("three classes", BayesPointClassifier(**one), X, y + (X[:, 2] > 0.5))
    rows = dask.array.from_array(X, chunks=(50, 3)), dask.array.from_array(y, chunks=50)
    walk("blocks of Dask", BayesPointClassifier(**few), *rows)


if __name__ == "__main__":
    main()
