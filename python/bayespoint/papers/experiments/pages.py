"""One page for each paper, made from the records of its experiments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from bayespoint.papers.experiments.framework import Table
from bayespoint.papers.experiments.registry import EXPERIMENTS


class Paper(NamedTuple):
    """A paper with its experiments."""

    title: str
    source: str


PAPERS = {
    "bayesian-learning": Paper(
        "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
        "R. Herbrich, T. Graepel, C. Campbell, Technical Report 99-11, Technical University of "
        "Berlin, 1999",
    ),
    "kernel-billiard": Paper(
        "Computing the Bayes Kernel Classifier",
        "P. Ruján, M. Marchand, in Advances in Large Margin Classifiers, MIT Press, 2000",
    ),
    "margin-to-sparsity": Paper(
        "From Margin to Sparsity",
        "T. Graepel, R. Herbrich, R. C. Williamson, Advances in Neural Information Processing "
        "Systems 13, 2001",
    ),
    "perceptrons-and-svms": Paper(
        "Perceptrons and Support Vector Machines",
        "J. L. Crowley, Intelligent Systems: Reasoning and Recognition, Lesson 6, lecture notes, "
        "2018",
    ),
    "perceptron-notes": Paper(
        "Perceptron classification",
        "Lecture notes on machine learning, whose author is not named, after courses and books by "
        "T. Jaakkola, by N. Cristianini and J. Shawe-Taylor, and by C. M. Bishop",
    ),
    "beyond": Paper(
        "Beyond the papers", "Measurements of this package that the papers do not have"
    ),
}


_TERMS = "The [glossary](glossary.md) explains the terms, [errata](errata.md) lists misprints."


def write_pages(results: Path, docs: Path) -> list[Path]:
    """Write the pages, and copy the pictures that they show.

    Parameters
    ----------
    results : Path
        Folder of the records. If there is only a record of the quick form of an experiment, the
        page shows it and says so.
    docs : Path
        Folder for the pages; the pictures go into its subfolder ``images/experiments``.

    Returns
    -------
    list of Path
        The pages.
    """
    pictures = docs / "images" / "experiments"
    pictures.mkdir(parents=True, exist_ok=True)
    pages = []
    for key, paper in PAPERS.items():
        parts = [f"# {paper.title}", f"{paper.source}.", _TERMS]
        for name, experiment in EXPERIMENTS.items():
            if experiment.paper != key:
                continue
            parts += [f"## {experiment.title}", experiment.about]
            stem = next(
                (
                    results / f"{name}{ending}"
                    for ending in ("", "-quick")
                    if (results / f"{name}{ending}.json").exists()
                ),
                None,
            )
            if stem is None:
                parts.append(f"Not run yet: `{_command(name, {})}`.")
                continue
            record = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
            picture = pictures / f"{name}.png"
            shutil.copyfile(stem.with_suffix(".png"), picture)
            parts += _section(record, picture.relative_to(docs))
        path = docs / f"{key}.md"
        path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        pages.append(path)
    return pages


def _section(record: dict[str, Any], picture: Path) -> list[str]:
    """Return the parts of a page that show one experiment."""
    parts = []
    if record["quick"]:
        parts.append("*From the quick form, which is too small for conclusions.*")
    parts += [Table(**table).markdown() for table in record["tables"]]
    claims = record["claims"]
    if claims:
        lines = [f"- {'Holds' if c['holds'] else '**Does not hold**'}: {c['text']}" for c in claims]
        parts.append("\n".join(lines))
    parts += record["remarks"]
    parts.append(f"![{record['title']}]({picture.as_posix()})")
    machine = record["machine"]
    work = ""
    if record["units"]:
        work = f"{record['units']} units, {record['seconds']:.0f} s of work, "
        if record["measured"] == record["units"]:
            work += f"{record['elapsed']:.0f} s elapsed (--n-jobs {record['n_jobs']}), "
    parts.append(
        f"`{_command(record['experiment'], record)}`: {work}version {record['version']}, "
        f"seed {record['seed']}, Python {machine['python']} on {machine['system']} "
        f"{machine['processor']}."
    )
    return parts


def _command(name: str, record: dict[str, Any]) -> str:
    """Return the command that made a record."""
    command = f"python -m bayespoint.papers {name}"
    if not record:
        return command
    settings = EXPERIMENTS[name].settings(quick=record["quick"])
    if record["quick"]:
        command += " --quick"
    if record["splits"] != settings.splits:
        command += f" --splits {record['splits']}"
    if record["seed"]:
        command += f" --seed {record['seed']}"
    return command
