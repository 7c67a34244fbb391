"""Every table and figure of the papers, reproduced by one command each.

``python -m bayespoint.papers`` lists them; with a NAME it runs one, prints
what the paper has, what came out here and the difference, and writes a CSV file of all single
runs, a picture and a JSON file with the tables, the seed, the version and the machine. A
run that was interrupted goes on from what is on disk.

An experiment is one module with an `Experiment`: units of work that are independent of one another,
a function that measures one, and two that make tables and a picture of all. Needs the extra
``plot``.
"""

from __future__ import annotations

from bayespoint.papers.experiments.framework import Claim, Experiment, Report, Settings, Table
from bayespoint.papers.experiments.runner import run

__all__ = ["Claim", "Experiment", "Report", "Settings", "Table", "run"]
