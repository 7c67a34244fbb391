"""One page for each paper, made from the records of its experiments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from bayespoint.papers.experiments.framework import Claim, Report, Table, Text
from bayespoint.papers.experiments.registry import EXPERIMENTS

PAPERS = {
    key: Text.of(key, "paper")
    for key in (
        "bayesian-learning",
        "kernel-billiard",
        "margin-to-sparsity",
        "perceptrons-and-svms",
        "perceptron-notes",
        "beyond",
    )
}
"""The title of each paper, and where it appeared."""

_TERMS = (
    "Claims that name no other rule are judged by three standard errors. Terms: "
    "[glossary](glossary.md); misprints: [errata](errata.md)."
)


def write_pages(results: Path, docs: Path) -> list[Path]:
    """Write the pages from a folder of records, with their pictures, and return their paths.

    If there is only a record of the quick form of an experiment, the page shows it and says so.
    """
    pictures = docs / "images" / "experiments"
    pictures.mkdir(parents=True, exist_ok=True)
    pages = []
    for key, paper in PAPERS.items():
        parts, runs = list[str](), dict[str, None]()
        for name, experiment in EXPERIMENTS.items():
            if experiment.paper != key:
                continue
            parts += [f"## {experiment.text.title}", experiment.text.about]
            stems = [results / name, results / f"{name}-quick"]
            records = [stem.with_suffix(".json") for stem in stems]
            if not any(record.exists() for record in records):
                parts.append(f"Not run yet: `{_command(name, {})}`.")
                continue
            path = next(record for record in records if record.exists())
            picture = pictures / f"{name}.png"
            shutil.copyfile(path.with_suffix(".png"), picture)
            record = json.loads(path.read_text(encoding="utf-8"))
            parts += _section(record, picture.relative_to(docs))
            runs[_origin(record)] = None
        summary = "\n".join(f"- {part}" for part in paper.parts.values() if part)
        terms = " ".join([f"Runs: {'; '.join(runs)}." if runs else "", _TERMS]).strip()
        path = docs / f"{key}.md"
        top = [f"# {paper.title}", f"{paper.about}.", summary, terms]
        path.write_text("\n\n".join([*top, *parts]) + "\n", encoding="utf-8")
        pages.append(path)
    return pages


def _section(record: dict[str, Any], picture: Path) -> list[str]:
    """Return the parts of a page that show one experiment."""
    parts = []
    if record["quick"]:
        parts.append("*From the quick form, which is too small for conclusions.*")
    tables = [Table(**table) for table in record["tables"]]
    claims = [Claim(**claim) for claim in record["claims"]]
    parts.append(Report(tables, claims, record["remarks"]).markdown())
    parts.append(f"![{record['experiment']}]({picture.as_posix()})")
    work = f": {record['units']} units, {record['seconds']:.0f} s" if record["units"] else ""
    parts.append(f"`{_command(record['experiment'], record)}`{work}")
    return parts


def _origin(record: dict[str, Any]) -> str:
    """Return version, seed and kind of machine of a run."""
    machine = record["machine"]
    return (
        f"version {record['version']}, seed {record['seed']}, Python {machine['python']} on "
        f"{machine['system']} {machine['processor']}"
    )


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
