"""The command ``python -m bayespoint.papers``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bayespoint.papers.experiments.pages import PAPERS, write_pages
from bayespoint.papers.experiments.registry import EXPERIMENTS
from bayespoint.papers.experiments.runner import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bayespoint.papers",
        description="Reproduce a table or a figure of the papers. Without a name: list them.",
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=[*EXPERIMENTS, "all", "pages"],
        metavar="NAME",
        help="name of one; 'all' of them; or 'pages': write the pages from the records",
    )
    parser.add_argument(
        "--quick", action="store_true", help="run a reduced form, which takes seconds"
    )
    parser.add_argument(
        "--splits",
        type=int,
        metavar="N",
        help="repetitions, at least 1; with 'all' for those that repeat something",
    )
    parser.add_argument(
        "--n-jobs", type=int, default=1, metavar="J", help="processes, -1: all processors"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("experiments_output"),
        metavar="DIR",
        help="folder for the files, made if missing (default: %(default)s)",
    )
    parser.add_argument(
        "--docs",
        type=Path,
        default=Path("docs"),
        metavar="DIR",
        help="only with 'pages': where to write them (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    if options.splits is not None and options.splits < 1:
        parser.error(f"argument --splits: must be at least 1, got {options.splits}")
    if options.n_jobs == 0:
        parser.error("argument --n-jobs: must not be 0")
    if not 0 <= options.seed < 2**32:
        parser.error(f"argument --seed: must be from 0 to 2**32 - 1, got {options.seed}")
    if options.name is None:
        _list()
        return 0
    if options.name == "pages":
        for path in write_pages(options.out, options.docs):
            print(path)
        return 0
    for name in EXPERIMENTS if options.name == "all" else (options.name,):
        experiment = EXPERIMENTS[name]
        splits = options.splits if experiment.splits else None
        if splits != options.splits and options.name != "all":
            parser.error(f"argument --splits: {name} repeats nothing")
        settings = experiment.settings(quick=options.quick, splits=splits, seed=options.seed)
        try:
            report = run(experiment, settings, options.out, n_jobs=options.n_jobs)
        except KeyboardInterrupt:
            print(f"interrupted; the same command continues from {options.out}", file=sys.stderr)
            return 130
        except (ImportError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        print(f"{name}: {experiment.text.title}\n")
        print(report.markdown())
        ending = "-quick" if options.quick else ""
        rows = options.out / f"{experiment.rows or name}{ending}.csv"
        print(f"\nwritten: {rows} and {options.out / (name + ending)}.md, .png, .json\n")
    return 0


def _list() -> None:
    width = max(map(len, EXPERIMENTS))
    for key, paper in PAPERS.items():
        print(f"{paper.title}:")
        for name, experiment in EXPERIMENTS.items():
            if experiment.paper == key:
                print(f"  {name.ljust(width)}  {experiment.text.title}")
