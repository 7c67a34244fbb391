"""All experiments, by name, in the order of the papers."""

from __future__ import annotations

from bayespoint.papers.experiments import (
    bound_figures,
    convergence,
    learning,
    lecture_kernels,
    lectures,
    margin_bounds,
    polygons,
    risk,
    selection,
    soft,
    sonar,
    sparsity,
    symmetry,
    table_1,
    toys,
    wisconsin,
)
from bayespoint.papers.experiments.framework import Experiment

_MODULES = (
    table_1,
    bound_figures,
    risk,
    symmetry,
    toys,
    soft,
    selection,
    polygons,
    learning,
    sonar,
    wisconsin,
    sparsity,
    margin_bounds,
    lectures,
    lecture_kernels,
    convergence,
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for module in _MODULES for experiment in module.EXPERIMENTS
}
