"""The command of the papers: ``python -m bayespoint.papers NAME [OPTIONS]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bayespoint.papers import guide_pictures
from bayespoint.papers.drawings import scenes as drawings
from bayespoint.papers.experiments import command as experiments

PICTURES = {"drawings": drawings.main, "guide-pictures": guide_pictures.main}
"""Commands that draw the pictures of a page; all other names are experiments."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; without one, list the commands."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in PICTURES:
        return PICTURES[given[0]](given[1:])
    status = experiments.main(given)
    if not given:
        print(f"Pages of pictures:\n  {', '.join(PICTURES)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
