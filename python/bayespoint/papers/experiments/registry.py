"""All experiments, by name, in the order of the papers."""

from __future__ import annotations

import importlib

from bayespoint.papers.experiments.framework import Experiment

_MODULES = (
    "table_1",
    "bound_figures",
    "risk",
    "symmetry",
    "toys",
    "soft",
    "selection",
    "polygons",
    "learning",
    "agreement",
    "cost",
    "sonar",
    "onion_noise",
    "wisconsin",
    "sparsity",
    "margin_bounds",
    "lectures",
    "lecture_kernels",
    "convergence",
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for name in _MODULES
    for experiment in importlib.import_module(f"{__package__}.{name}").EXPERIMENTS
}
