"""Every table and figure of the papers, reproduced by one command each.

``python -m bayespoint.papers`` lists them. With a NAME it runs one, prints the result of the paper,
ours and the difference, and writes a CSV file of all single runs, a picture, and a JSON file with
the tables, the seed, the version and the machine. An interrupted run continues from these files.

An `Experiment` has independent units of work, a function that measures one of them, and functions
that make the tables and the picture of all. Its words are in ``texts/PAPER/NAME.md``. Needs the
extra ``plot``.
"""

from bayespoint.papers.experiments.framework import Claim, Experiment, Report, Settings, Table, Text
from bayespoint.papers.experiments.runner import run

__all__ = ["Claim", "Experiment", "Report", "Settings", "Table", "Text", "run"]
