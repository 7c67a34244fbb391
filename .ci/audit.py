"""What the package is made of: licenses and sources of all crates, a reason for each of ours.

``cargo metadata --format-version 1 --locked --all-features | python .ci/audit.py``. Needs no
network. Ends with status 1 and says what is wrong, if anything is.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

ALLOWED = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "MIT",
    "Unicode-3.0",
    "Zlib",
}
"""As in deny.toml: they ask for nothing but to be named."""

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def permitted(license: str) -> bool:
    """Whether an SPDX expression can be fulfilled by allowed licenses alone."""
    terms = []
    for word in re.findall(r"[()/]|[^\s()/]+(?: WITH [^\s()/]+)?", license):
        if word in "()":
            terms.append(word)
        elif word in ("OR", "AND", "/"):
            terms.append({"OR": "or", "AND": "and", "/": "or"}[word])
        else:
            terms.append(str(word in ALLOWED))
    try:
        # Nothing but True, False, and, or and parentheses.
        return bool(terms) and bool(eval(" ".join(terms), {"__builtins__": {}}))
    except SyntaxError:
        return False


def problems(metadata: dict[str, Any], reasons: str) -> list[str]:
    """Return what is wrong with crates; `reasons` is the text that justifies ours."""
    found = []
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        if not permitted(package["license"] or ""):
            found.append(f"{name} has the license {package['license']!r}")
        if package["source"] is None:
            found += [
                f"{dependency['name']} has no row with its reason in CONTRIBUTING.md"
                for dependency in package["dependencies"]
                if not justified(dependency["name"], reasons)
            ]
        elif package["source"] != REGISTRY:
            found.append(f"{name} comes from {package['source']}")
    return found


def justified(name: str, reasons: str) -> bool:
    """Whether a dependency stands in the first column of a table."""
    rows = re.findall(r"^\| *([^|]*?) *\|", reasons, flags=re.MULTILINE)
    return any(name in re.split(r", *", row) for row in rows)


def main() -> int:
    """Read the metadata from standard input and judge it."""
    metadata = json.load(sys.stdin)
    found = problems(metadata, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    print("\n".join(found) or f"{len(metadata['packages'])} crates: licenses and sources are good")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
