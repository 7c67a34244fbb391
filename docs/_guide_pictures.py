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
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from bayespoint import BayesPointClassifier, VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers import pictures
from bayespoint.papers.displays import BilliardDisplay, EvidenceDisplay, OnionDisplay, WallsDisplay
from bayespoint.papers.elongated import make_elongated
from bayespoint.papers.onion import onion
from bayespoint.plotting import (
    RejectionDisplay,
    RelevanceDisplay,
    TuningDisplay,
)

__all__ = ["FILES", "SCENES", "main", "page"]

X, y = make_moons(120, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)


def models() -> dict[str, Any]:
    """Return the classifiers of the page, of two classes and of three."""
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    plain = BayesPointClassifier(n_models=1, random_state=0).fit(X, y)
    flowers = load_iris(as_frame=True)
    species = flowers.target_names[flowers.target]
    three = BayesPointClassifier(random_state=0).fit(flowers.data, species)
    return {"classifier": classifier, "plain": plain, "three": three}


def rejection(classifier: BayesPointClassifier) -> Any:
    """Draw the errors among the points accepted."""
    return RejectionDisplay.from_estimator(classifier, X_test, y_test)


def walls(three: Any) -> Any:
    """Draw how much each training example contributes."""
    return WallsDisplay.from_estimator(three)


def training_errors(classifier: BayesPointClassifier) -> Any:
    """Draw the training errors of the draws."""
    return OnionDisplay.from_estimator(classifier)


def draws(three: Any) -> Any:
    """Draw the draws of a classifier, projected."""
    return BilliardDisplay.from_estimator(three)


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


def evidence(plain: Any) -> Any:
    """Draw how the evidence is found by sampling."""
    return EvidenceDisplay.from_estimator(plain, random_state=0)


def layers() -> Any:
    """Draw the layers around a version space."""
    vectors, labels = make_teacher(40, 5, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    table = onion(space, max_errors=(4, 6), tol=0.1, random_state=0)
    return OnionDisplay.from_result(table)


def billiard() -> Any:
    """Draw a billiard on the sphere."""
    problem = make_elongated(random_state=3)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    return BilliardDisplay.from_space(space, random_state=0)


def chart() -> Any:
    """Draw two balls in a chart."""
    problem = make_teacher(25, 2, random_state=1)
    space = VersionSpace(problem[0] @ problem[0].T, problem[1], offset=1.0)
    return BilliardDisplay.from_space(space, n_trajectories=2, random_state=0, view="chart")


def animation() -> Any:
    """Draw a ball in motion."""
    display = BilliardDisplay.from_space(
        VersionSpace(np.eye(3), [1, 1, -1]), length=12.0, random_state=1, view="chart"
    )
    return display.animate(n_frames=32, interval=110, view="chart")


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
        walls,
        training_errors,
        draws,
        relevance,
        average,
        tuning,
        evidence,
        layers,
        billiard,
        chart,
        animation,
    )
}
"""The functions that draw the pictures, by name, in the order of the page."""

FILES = {
    name: f"images/displays/{name}.{'gif' if name == 'animation' else 'png'}" for name in SCENES
}
"""Paths of the pictures, relative to the folder of the documentation."""


def page() -> str:
    """Return the page in Markdown: `_templates/plots.md` with the commands for its pictures."""
    fits = pictures.code_of(models, "").rsplit("\n", 1)[0]
    preamble = pictures.preamble(models, "X, y = ") + "\n" + fits
    codes = {
        name: pictures.code_of(draw, "animation" if name == "animation" else "display")
        for name, draw in SCENES.items()
    }
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
