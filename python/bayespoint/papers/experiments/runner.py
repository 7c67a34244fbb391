"""Runs an experiment: measures the missing units, and writes tables, picture and record."""

from __future__ import annotations

import csv
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from bayespoint import __version__
from bayespoint.base import validation
from bayespoint.estimators.progress import Bar
from bayespoint.papers.experiments.framework import Experiment, Report, Settings
from bayespoint.papers.experiments.rows import Row, Rows
from bayespoint.papers.experiments.store import Store
from bayespoint.plotting.style import import_matplotlib


def run(
    experiment: Experiment,
    settings: Settings,
    out: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Report:
    """Measure the missing units of an experiment, and write its tables, picture and record.

    The folder, made if missing, gets ``NAME.csv`` with the units (or with the tables, if there are
    no units), ``NAME.md`` with the tables, ``NAME.png`` and ``NAME.json``. In the quick form names
    end in ``-quick``. Units in the CSV file that have the same version and seed are not measured
    again. The number of processes does not change the result.
    """
    jobs = validation.threads(n_jobs)
    validation.integer("splits", settings.splits, low=1 if experiment.splits else 0)
    figure_class = import_matplotlib("figure").Figure
    ending = "-quick" if settings.quick else ""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(
        folder / f"{experiment.rows or experiment.name}{ending}.csv", __version__, settings.seed
    )
    units = list(experiment.units(settings))
    found = store.find(units)
    missing = [unit for unit, row in zip(units, found, strict=True) if row is None]
    if units:
        store.begin()
    work = (delayed(_timed)(experiment.measure, unit, settings) for unit in missing)
    measured = Parallel(n_jobs=jobs, return_as="generator")(work)
    with Bar(
        total=len(units),
        initial=len(units) - len(missing),
        desc=experiment.name,
        unit="unit",
        disable=not progress or not units,
        file=sys.stderr,
    ) as bar:
        for row in measured:
            store.add(row)
            bar.update()
    rows = Rows([row for row in store.find(units) if row is not None])
    report = experiment.judged(rows, settings)

    stem = folder / f"{experiment.name}{ending}"
    record = {
        "experiment": experiment.name,
        "title": experiment.text.title,
        "paper": experiment.paper,
        "seed": settings.seed,
        "splits": settings.splits,
        "quick": settings.quick,
        "version": __version__,
        "machine": machine(),
        "units": len(units),
        "seconds": round(sum(float(row["seconds"]) for row in rows), 3),
        "measured": len(missing),
        **asdict(report),
    }
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    stem.with_suffix(".json").write_text(text, encoding="utf-8")
    stem.with_suffix(".md").write_text(report.markdown() + "\n", encoding="utf-8")
    if not units:
        with stem.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for table in report.tables:
                writer.writerows([[table.title], table.columns, *table.rows])
    figure = figure_class(figsize=experiment.size, layout="constrained")
    experiment.draw(rows, settings, figure)
    figure.savefig(stem.with_suffix(".png"), dpi=100)
    return report


def machine() -> dict[str, Any]:
    """Return the kind of machine and the versions, without the name of the machine."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _timed(measure: Any, unit: Row, settings: Settings) -> Row:
    """Measure a unit on one thread, and add the time it took."""
    began = time.perf_counter()
    with threadpool_limits(limits=1, user_api="blas"):
        values = measure(unit, settings)
    return {**unit, **values, "seconds": round(time.perf_counter() - began, 4)}
