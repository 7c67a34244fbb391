"""Draw the gallery: ``python -m bayespoint.papers.gallery --out docs``."""

from __future__ import annotations

from bayespoint.papers import pictures
from bayespoint.papers.gallery.scenes import SCENES, page


def main(arguments: list[str] | None = None) -> None:
    """Write the pictures and their page."""
    pictures.command(
        "python -m bayespoint.papers.gallery",
        "Draw the mechanisms of the founding papers, from the running code.",
        SCENES,
        {name: f"gallery/{name}.png" for name in SCENES},
        ("gallery.md", page),
        arguments,
    )


if __name__ == "__main__":
    main()
