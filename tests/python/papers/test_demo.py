"""The demonstration prints correct tables and writes a picture."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

# The demonstration is run once, and in one process.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("demo")]

DEMO = Path(__file__).parents[3] / "examples" / "demo.py"
sys.modules["demo"] = demo = module_from_spec(spec_from_file_location("demo", DEMO))
demo.__spec__.loader.exec_module(demo)


def table(text, number):
    """The rows of the table under the heading with this number: title and cells."""
    [block] = re.findall(rf"^{number}\. .*\n\n.*\n-+ .*\n((?:.*\n)*?)\(", text, flags=re.MULTILINE)
    rows = [re.split(r"\s{2,}", row.strip()) for row in block.splitlines()]
    return {title: cells for title, *cells in rows}


def number(cell):
    return float(re.match(r"-?[\d.]+", cell).group())


def test_the_tables_are_those_of_the_benchmarks(tmp_path, capsys):
    """Up to a few test examples of 664, since another processor rounds otherwise."""
    out = tmp_path / "made" / "on the way"
    assert demo.main(["--out", str(out)]) == 0
    text = capsys.readouterr().out
    page = (DEMO.parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for section, titles, n_columns in (
        (1, demo.CLASSIFIERS, 4),
        (2, demo.CLASSIFIERS, 3),
        (3, demo.KERNELS, 3),
    ):
        found = table(text, section)
        assert set(found) == set(titles)
        for title, cells in found.items():
            assert len(cells) == n_columns
            assert all(np.isfinite(number(cell)) for cell in cells)
            if section < 3:
                [row] = re.findall(rf"^\| `?{re.escape(title)}`? \|(.*)\|$", page, re.MULTILINE)[:1]
                known = row.split("|")[:3] if section == 1 else row.split("|")[3:]
                for shown, wanted in zip(cells, known, strict=False):
                    close = 0.7 if "%" in shown else 0.005
                    assert abs(number(shown) - number(wanted.strip())) < close, (title, shown)
    [picture] = out.iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_scores_of_hand_made_probabilities():
    y = np.array([1, 1, -1, -1])
    proba = np.array([[0.05, 0.95], [0.4, 0.6], [0.02, 0.98], [0.97, 0.03]])
    scores = demo.Scores.of(y, proba, 1.5)

    assert scores.error == 0.25  # the third
    assert scores.expected_error == pytest.approx((0.05 + 0.4 + 0.02 + 0.03) / 4)
    assert scores.log_loss == pytest.approx(-np.log([0.95, 0.6, 0.02, 0.97]).mean())
    assert scores.rejected == 0.25  # the second
    assert scores.error_on_others == pytest.approx(1 / 3)
    assert scores.cost == pytest.approx((0.1 + 1.0) / 4)
    assert scores.seconds == 1.5


def test_without_matplotlib_the_tables_stand_and_the_package_is_named(
    monkeypatch, tmp_path, capsys
):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert demo.main(["--out", str(tmp_path), "--splits", "1"]) == 1

    captured = capsys.readouterr()
    assert set(table(captured.out, 3)) == set(demo.KERNELS)
    assert "pip install matplotlib" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--splits", "0"], "argument --splits: must be at least 1, got 0"),
        (["--seed", "-1"], "argument --seed: must be from 0 to"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
    ],
)
def test_bad_arguments_are_named(capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        demo.main(arguments)

    assert stop.value.code == 2
    assert message in capsys.readouterr().err
