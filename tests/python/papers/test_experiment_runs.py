"""The framework of the experiments: units, rows on disk, continued runs, the command."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bayespoint.papers.experiments import Claim, Experiment, Report, Settings, Table, Text, run
from bayespoint.papers.experiments.command import main
from bayespoint.papers.experiments.framework import no_units
from bayespoint.papers.experiments.registry import EXPERIMENTS
from bayespoint.papers.experiments.store import Store

asked = []


def units(settings):
    return [{"kind": kind, "run": run} for run in range(settings.splits) for kind in ("a", "b")]


def measure(unit, settings):
    asked.append(dict(unit))
    if unit == getattr(measure, "stop", None):
        raise KeyboardInterrupt
    value = np.random.default_rng(settings.seed_of(unit["run"], ord(unit["kind"]))).random()
    return {"value": float(value), "text": "x, y"}


def report(rows, settings):
    mean = rows.mean("value")
    table = Table("Mean", ["what", "mean"], [["value", f"{mean}"]])
    return Report(
        [table],
        [
            Claim("it is below 1", mean.value < 1),
            Claim("it is 2", mean.value == 2),
            Claim("all are below 1", True, general=True),
        ],
    )


def draw(rows, settings, figure):
    figure.add_subplot().plot(rows["value"])


TOY = Experiment(Text("beyond", "toy", "A toy", "About."), report, draw, units, measure, 3, 1)


@pytest.fixture(autouse=True)
def forget():
    asked.clear()
    measure.stop = None
    yield
    measure.stop = None


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.rsplit(",", 1)[0] for line in lines]  # without the seconds


def test_interrupted_run_continues_from_disk(tmp_path):
    measure.stop = {"kind": "a", "run": 1}
    with pytest.raises(KeyboardInterrupt):
        run(TOY, TOY.settings(), tmp_path / "cut", progress=False)
    assert len(asked) == 3
    measure.stop = None
    asked.clear()
    run(TOY, TOY.settings(), tmp_path / "cut", progress=False)
    assert asked == [{"kind": k, "run": r} for r in (1, 2) for k in "ab"]
    run(TOY, TOY.settings(), tmp_path / "whole", progress=False)
    assert rows_of(tmp_path / "cut" / "toy.csv") == rows_of(tmp_path / "whole" / "toy.csv")
    record = json.loads((tmp_path / "cut" / "toy.json").read_text(encoding="utf-8"))
    assert (record["units"], record["measured"]) == (6, 4)
    assert [one["holds"] for one in record["claims"]] == [True, False, True]


def test_claims_that_few_units_do_not_show_are_undecided(tmp_path):
    report = run(TOY, TOY.settings(quick=True), tmp_path, progress=False)
    assert [claim.holds for claim in report.claims] == [True, None, None]
    record = json.loads((tmp_path / "toy-quick.json").read_text(encoding="utf-8"))
    assert [one["holds"] for one in record["claims"]] == [True, None, None]
    assert "- Undecided: it is 2" in report.markdown()
    certain = replace(
        TOY, units=no_units, report=lambda rows, settings: Report([], [Claim("no", False)])
    )
    found = run(certain, certain.settings(quick=True), tmp_path / "certain", progress=False)
    assert "- **Does not hold**: no" in found.markdown()


def test_row_that_was_cut_off_is_measured_again(tmp_path):
    run(TOY, TOY.settings(splits=1), tmp_path, progress=False)
    path = tmp_path / "toy.csv"
    whole = rows_of(path)
    path.write_text(path.read_text(encoding="utf-8")[:-4], encoding="utf-8")
    asked.clear()
    run(TOY, TOY.settings(splits=1), tmp_path, progress=False)
    assert asked == [{"kind": "b", "run": 0}]
    assert rows_of(path) == whole


def test_rows_of_another_seed_version_or_form_are_not_used(tmp_path, monkeypatch):
    run(TOY, TOY.settings(splits=1), tmp_path, progress=False)
    first = rows_of(tmp_path / "toy.csv")
    for change in ({"seed": 1}, {"quick": True}):
        asked.clear()
        run(TOY, TOY.settings(splits=1, **change), tmp_path, progress=False)
        assert len(asked) == 2
    assert rows_of(tmp_path / "toy.csv") != first
    asked.clear()
    monkeypatch.setattr("bayespoint.papers.experiments.runner.__version__", "0.0.0-other")
    run(TOY, TOY.settings(splits=1, seed=1), tmp_path, progress=False)
    assert len(asked) == 2


@pytest.mark.long
def test_processes_do_not_change_the_result(tmp_path):
    path = EXPERIMENTS["figure-18-4"]
    for jobs in (1, 2):
        run(path, path.settings(quick=True), tmp_path / str(jobs), n_jobs=jobs, progress=False)
    name = "figure-18-4-quick.csv"
    assert rows_of(tmp_path / "1" / name) == rows_of(tmp_path / "2" / name)


def test_splits_are_checked(tmp_path):
    with pytest.raises(ValueError, match="splits must be an integer of at least 1; got 0"):
        run(TOY, Settings(0), tmp_path, progress=False)


def test_store_refuses_other_columns(tmp_path):
    store = Store(tmp_path / "x.csv", "1", 0)
    store.begin()
    store.add({"a": 1, "b": 2.5})
    with pytest.raises(ValueError, match=r"rows must have the columns of .*x\.csv, \['a', 'b'\]"):
        store.add({"a": 1})
    again = Store(tmp_path / "x.csv", "1", 0)
    assert again.rows == [{"a": 1, "b": 2.5}]
    assert again.find([{"a": 1}, {"a": 2}]) == [{"a": 1, "b": 2.5}, None]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nothing"], "invalid choice: 'nothing'"),
        (["figure-4", "--splits", "0"], "--splits: must be at least 1, got 0"),
        (["figure-1", "--splits", "2"], "--splits: figure-1 repeats nothing"),
        (["figure-1", "--n-jobs", "0"], "--n-jobs: must not be 0"),
        (["figure-1", "--seed", "-1"], "--seed: must be from 0"),
    ],
)
def test_command_refuses(arguments, text, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_command_without_data_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path / "nowhere"))
    assert main(["table-18-1", "--quick", "--out", str(tmp_path)]) == 1
    assert "BAYESPOINT_DATA must name a folder" in capsys.readouterr().err
