"""Draw the pictures of the guide: ``python -m bayespoint.papers.guide_pictures --out docs``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayespoint.papers import pictures
from bayespoint.papers.guide_pictures.scenes import FILES, SCENES, page


def _picture(draw: Callable[[], Any]) -> Callable[[], Any]:
    def figure() -> Any:
        found = draw()
        return getattr(found, "figure_", found)  # an animation is one itself

    return figure


def main(arguments: list[str] | None = None) -> None:
    """Write the pictures and their page."""
    pictures.command(
        "python -m bayespoint.papers.guide_pictures",
        "Draw the displays of the guide, from the running code.",
        {name: _picture(draw) for name, draw in SCENES.items()},
        FILES,
        ("guide/plots.md", page),
        arguments,
    )


if __name__ == "__main__":
    main()
