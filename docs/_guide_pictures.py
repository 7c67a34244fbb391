"""The pictures of docs/guide/plots.md: ``python docs/_guide_pictures.py``.

The page shows the code of each function as the commands for its picture.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons

from bayespoint import BayesPointClassifier, VersionSpace
from bayespoint.papers import pictures
from bayespoint.papers.displays import BilliardDisplay
from bayespoint.papers.elongated import make_elongated
from bayespoint.plotting import (
    RejectionDisplay,
    RelevanceDisplay,
    TuningDisplay,
)

__all__ = ["FILES", "SCENES", "main", "page"]

X, y = make_moons(120, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)


def models() -> dict[str, Any]:
    """Return the classifiers of the page."""
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    plain = BayesPointClassifier(n_models=1, random_state=0).fit(X, y)
    return {"classifier": classifier, "plain": plain}


def rejection(classifier: BayesPointClassifier) -> Any:
    """Draw the errors among the points accepted."""
    return RejectionDisplay.from_estimator(classifier, X_test, y_test)


def relevance() -> Any:
    """Draw which features matter."""
    data, target = load_breast_cancer(return_X_y=True, as_frame=True)
    tumors = BayesPointClassifier(random_state=0).fit(data[::2], target[::2])
    return RelevanceDisplay.from_estimator(tumors, max_features=10)


def tuning(plain: Any) -> Any:
    """Draw the evidence around the best hyperparameters."""
    return TuningDisplay.from_estimator(plain, grid_resolution=20)


def average(classifier: BayesPointClassifier) -> Any:
    """Draw the average of several models along a line."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
    line = np.column_stack([np.linspace(-3.0, 4.0, 400), np.full(400, 0.25)])
    for k, model in enumerate(classifier.models_):
        label = "each of the models" if k == 0 else None
        ax.plot(line[:, 0], model.predict_proba(line)[:, 1], color="0.6", lw=1, label=label)
    ax.plot(line[:, 0], classifier.predict_proba(line)[:, 1], lw=2.5, label="their average")
    near = np.abs(X[:, 1] - 0.25) < 0.25
    ax.plot(X[near, 0], y[near], "|", color="black", label="labels near the line")
    ax.set(xlabel="first feature", ylabel="probability of the second class")
    figure.legend(frameon=False, loc="outside upper center", ncols=3)
    return figure


def billiard() -> Any:
    """Draw a billiard on the sphere."""
    problem = make_elongated(random_state=3)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    return BilliardDisplay.from_space(space, random_state=0)


_fitted = functools.cache(models)


def _scene(draw: Callable[..., Any]) -> Callable[[], Any]:
    """Return a function without arguments that draws with the classifiers of the page."""

    @functools.wraps(draw)
    def scene() -> Any:
        return draw(**{name: _fitted()[name] for name in inspect.signature(draw).parameters})

    return scene


SCENES: dict[str, Callable[[], Any]] = {
    draw.__name__: _scene(draw)
    for draw in (
        rejection,
        relevance,
        average,
        tuning,
        billiard,
    )
}
"""The functions that draw the pictures, by name, in the order of the page."""

FILES = {name: f"images/displays/{name}.png" for name in SCENES}
"""Paths of the pictures, relative to the folder of the documentation."""


def page() -> str:
    """Return the page in Markdown: `_templates/plots.md` with the commands for its pictures."""
    fits = pictures.code_of(models, "").rsplit("\n", 1)[0]
    preamble = pictures.preamble(models, "X, y = ") + "\n" + fits
    codes = {name: pictures.code_of(draw, "display") for name, draw in SCENES.items()}
    codes["average"] = codes["average"].removesuffix("\ndisplay = figure")
    template = Path(__file__).parent / "_templates" / "plots.md"
    return pictures.page(template.read_text("utf-8"), preamble, codes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures and their page."""
    return pictures.command(
        "python docs/_guide_pictures.py",
        "Draw the displays of the guide.",
        SCENES,
        FILES,
        ("guide/plots.md", page),
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
