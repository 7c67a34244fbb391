"""The command of the papers: ``python -m bayespoint.papers NAME [OPTIONS]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bayespoint.papers.drawings import scenes as drawings
from bayespoint.papers.experiments import command as experiments


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; without one, list the commands."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] == "drawings":
        return drawings.main(given[1:])
    status = experiments.main(given)
    if not given:
        print("Page of pictures:\n  drawings")
    return status


if __name__ == "__main__":
    sys.exit(main())
