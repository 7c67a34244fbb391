"""All experiments, by name, in the order of the papers."""

from __future__ import annotations

from bayespoint.experiments import table_1
from bayespoint.experiments._framework import Experiment

_MODULES = (table_1,)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for module in _MODULES for experiment in module.EXPERIMENTS
}
