"""Draw the gallery: ``python -m bayespoint.gallery --out docs``."""

from __future__ import annotations

from bayespoint import _pictures
from bayespoint.gallery._scenes import SCENES, page


def main(arguments: list[str] | None = None) -> None:
    """Write the pictures and their page."""
    _pictures.command(
        "python -m bayespoint.gallery",
        "Draw the mechanisms of the founding papers, from the running code.",
        SCENES,
        {name: f"gallery/{name}.png" for name in SCENES},
        ("gallery.md", page),
        arguments,
    )


if __name__ == "__main__":
    main()
