"""The commands of the papers: ``python -m bayespoint.papers COMMAND [ARGS]``."""

from __future__ import annotations

import runpy
import sys

COMMANDS = {
    "experiments": "tables and figures of the papers",
    "gallery": "the papers' mechanisms as pictures",
    "guide_pictures": "the pictures of the guide",
}


def main() -> int:
    """Run the command that the first argument names; without one, list them."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        for name, text in COMMANDS.items():
            print(f"python -m bayespoint.papers {name:<16}{text}")
        return int(len(sys.argv) > 1)
    command = sys.argv.pop(1)
    runpy.run_module(f"bayespoint.papers.{command}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
