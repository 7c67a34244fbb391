"""Checks all of a release that one machine can check, for ``make release-check``.

Builds the source distribution, and wheels from the tree and from it, whose bytes are compared. Each
is installed into an environment with nothing else, where the README's examples and a short program
must run. Ends with status 1 and says what is wrong, if anything is. ``python .ci/release.py
--texts`` only compares the files that name the version.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import reproducible

ROOT = Path(__file__).parents[1]
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")
IN_SOURCE = (
    *LICENSES,
    "Cargo.lock",
    "README.md",
    "src/python",
    "tests/engine",
    "tests/hostile/corpus",
)
PROGRAM = """
import numpy as np, bayespoint
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
model = bayespoint.BayesPointClassifier(max_time=60, random_state=0).fit(X[::2], y[::2])
assert model.score(X[1::2], y[1::2]) > 0.9
model.save("model.bayespoint")
again = bayespoint.load("model.bayespoint")
assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
print("fits, predicts, saves and loads with", bayespoint.__version__)
"""


def read(name: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def field(text: str, pattern: str) -> str:
    """Return what the group of a pattern finds at the beginning of a line, or nothing."""
    found = re.search(f"^{pattern}", text, re.MULTILINE)
    return found[1] if found else ""


def versions() -> dict[str, str]:
    """Return the version that each file has."""
    return {
        "Cargo.toml": field(read("Cargo.toml"), r'version = "(.+)"'),
        "Cargo.lock": field(read("Cargo.lock"), r'name = "bayespoint"\nversion = "(.+)"'),
        "CITATION.cff": field(read("CITATION.cff"), r"version: (.+)"),
        ".zenodo.json": json.loads(read(".zenodo.json"))["version"],
        "CHANGELOG.md": field(read("CHANGELOG.md"), r"## \[(\d.*)\] - \d{4}-\d\d-\d\d$"),
        "docs/_static/versions.json": json.loads(read("docs/_static/versions.json"))[0]["version"],
        "packaging/conda/recipe.yaml": field(
            read("packaging/conda/recipe.yaml"), r'  version: "(.+)"'
        ),
    }


def disagreements() -> list[str]:
    """Return what differs between the files that describe a release."""
    found, version = [], versions()
    for name, one in version.items():
        if one != version["Cargo.toml"]:
            found.append(f"{name} has the version {one!r}, Cargo.toml {version['Cargo.toml']!r}")
    citation, project = read("CITATION.cff"), read("pyproject.toml")
    recipe, archive = read("packaging/conda/recipe.yaml"), json.loads(read(".zenodo.json"))
    license = field(project, r'license = "(.+)"')
    texts = {
        "title": (archive["title"], field(citation, r"title: (.+)")),
        "abstract": (archive["description"], field(citation, r"abstract: (.+)")),
        "author": (archive["creators"][0]["name"], field(citation, r"  - name: (.+)")),
        "keywords": (
            archive["keywords"],
            field(citation, r"keywords:\n((?:  - .+\n)+)").replace("  - ", "").splitlines(),
        ),
        "license": (archive["license"], license),
        "license of CITATION.cff": (
            set(re.findall(r"^  - (MIT|Apache-2\.0)$", citation, re.MULTILINE)),
            set(license.split(" OR ")),
        ),
        "license of the recipe": (field(recipe, r"  license: (.+)"), license),
        "summary of the recipe": (field(recipe, r"  summary: (.+)"), archive["description"]),
        "dependencies of the recipe": (
            re.findall(r"^    - (.+>=.+)", recipe.split("  run:\n")[1], re.MULTILINE),
            [
                re.sub("(>=)", r" \1", one)
                for one in re.findall(
                    r'"(.+)"', re.split(r"^dependencies = ", project, flags=re.M)[1].split("]")[0]
                )
            ],
        ),
    }
    found += [
        f"{what}: {one!r} and {other!r}" for what, (one, other) in texts.items() if one != other
    ]
    return found


def run(*command: str | Path, cwd: Path = ROOT, environment: dict[str, str] | None = None) -> None:
    """Run a command, which is printed first."""
    print("+", *(str(word) for word in command), flush=True)
    subprocess.run(command, cwd=cwd, env=environment, check=True)


def works(package: Path, folder: Path) -> None:
    """Install a distribution where there is nothing else, and use it."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(python, "-m", "pip", "install", "--quiet", package)
    run(python, "-m", "pip", "check")
    options = ("-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS")
    run(python, "-m", "doctest", ROOT / "README.md", *options, cwd=folder)
    run(python, "-c", PROGRAM, cwd=folder)
    run(python, "-m", "bayespoint.papers", cwd=folder)


def wheel_problems(wheel: Path, version: str) -> list[str]:
    """Return what is missing in a wheel: its version, licenses, and the bill of materials."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
        found = [
            f"{wheel.name} has not the text of {name}"
            for name in LICENSES
            if f"{info}/licenses/{name}" not in names
            or archive.read(f"{info}/licenses/{name}").decode() != read(name)
        ]
        if f"\nVersion: {version}\n" not in archive.read(f"{info}/METADATA").decode():
            found.append(f"{wheel.name} has another version in METADATA")
        bills = [name for name in names if name.startswith(f"{info}/sboms/")]
        parts = json.loads(archive.read(bills[0]))["components"] if bills else []
    if "pyo3" not in {part["name"] for part in parts}:
        found.append(f"{wheel.name} has no bill of materials with its crates")
    found += [f"{part['name']} has no license in it" for part in parts if not part.get("licenses")]
    print(f"{wheel.name}: {len(names)} files; bill of materials: {len(parts)} crates")
    return found


def wheel_from(unpacked: Path, out: Path) -> Path:
    """Build the wheel of an unpacked source distribution, with flags as the Makefile has them."""
    cargo = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    names = {str(unpacked): "/bayespoint", cargo: "/cargo"}
    flags = [f"--remap-path-prefix={folder}={name}" for folder, name in names.items()]
    environment = {k: v for k, v in os.environ.items() if k != "CARGO_TARGET_DIR"}
    environment["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    maturin = (sys.executable, "-m", "maturin", "build", "--release", "--locked")
    run(
        *maturin,
        "--interpreter",
        sys.executable,
        "--out",
        out,
        cwd=unpacked,
        environment=environment,
    )
    [wheel] = out.glob("*.whl")
    return wheel


def packages(version: str) -> list[str]:
    """Build the distributions into dist, use each, and return what is wrong."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run("make", "--no-print-directory", f"PYTHON={sys.executable}", f"VENV={sys.prefix}", "build")
    run(sys.executable, "-m", "pip", "install", "--quiet", "twine")
    run(sys.executable, "-m", "maturin", "sdist", "--out", "dist")
    [wheel], [source] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = folder / f"bayespoint-{version}"
        again = wheel_from(unpacked, folder / "wheel")
        found = [
            f"{source.name} has no {one}" for one in IN_SOURCE if not (unpacked / one).exists()
        ]
        found += wheel_problems(wheel, version) + wheel_problems(again, version)
        found += reproducible.problems(
            [reproducible.members(one) for one in (wheel, again)], [name, str(ROOT)]
        )
        works(wheel, folder / "from-wheel")
        works(again, folder / "from-source")
    print(f"{source.name}: SHA-256 {hashlib.sha256(source.read_bytes()).hexdigest()}")
    return found


def main() -> int:
    """Check, and print what is wrong."""
    found = disagreements()
    if not found and "--texts" not in sys.argv:
        found = packages(versions()["Cargo.toml"])
    print("\n".join(found) or "release check: passed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
