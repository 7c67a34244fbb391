"""Builds the wheel of the last commit in two folders and compares them, byte by byte.

Only the bill of materials differs: it has the time of its build, a random number and the folder.
Ends with status 1 if more differs, or if the engine has a name of a folder of this machine.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("one", "another/longer")
ENGINE = (".so", ".pyd")


def members(wheel: Path) -> dict[str, bytes]:
    """Return what is in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def built(folder: Path) -> dict[str, bytes]:
    """Return the members of the wheel that is built in a new clone."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("CARGO_TARGET_DIR", "VENV")}
    command = ["make", "--no-print-directory", f"PYTHON={sys.executable}", "build"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    [wheel] = folder.glob("dist/*.whl")
    return members(wheel)


def problems(wheels: list[dict[str, bytes]], folders: list[str]) -> list[str]:
    """Return what is wrong with two wheels, of which no binary part may name one of the folders."""
    found = []
    for wheel in wheels:
        for name in [name for name in wheel if "/sboms/" in name]:
            del wheel[name]
        [record] = [name for name in wheel if name.endswith("/RECORD")]
        lines = wheel[record].splitlines()
        wheel[record] = b"\n".join(line for line in lines if b"/sboms/" not in line)
    one, other = wheels
    if list(one) != list(other):
        found.append("the wheels have other members")
    found += [f"{name} differs" for name in one if one[name] != other.get(name)]
    for name, content in one.items():
        if name.endswith(ENGINE):
            found += [f"{name} has {each}" for each in folders if each.encode() in content]
    return found


def main() -> int:
    """Build two wheels and judge them."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = [built(Path(folder) / name) for name in FOLDERS]
    cargo = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    found = problems(wheels, [folder, cargo, str(ROOT)])
    engines = [hashlib.sha256(c).hexdigest() for n, c in wheels[0].items() if n.endswith(ENGINE)]
    print("\n".join(found) or f"both wheels are the same; the engine has the SHA-256 {engines[0]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
