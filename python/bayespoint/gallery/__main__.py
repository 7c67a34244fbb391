"""Draw the gallery: ``python -m bayespoint.gallery --out docs``."""

from __future__ import annotations

import argparse
from pathlib import Path

from bayespoint.gallery._scenes import SCENES, page
from bayespoint.plotting._style import import_matplotlib

_DPI = 80


def main(arguments: list[str] | None = None) -> None:
    """Write the pictures and their page."""
    parser = argparse.ArgumentParser(
        prog="python -m bayespoint.gallery",
        description="Draw the mechanisms of the founding papers, from the running code.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("docs"),
        help="folder for gallery.md, and gallery/ with the pictures; default: %(default)s",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"pictures to draw, by default all with the page: {', '.join(SCENES)}",
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in SCENES]
    if unknown:
        parser.error(f"no picture named {', '.join(unknown)}; there are {', '.join(SCENES)}")
    import_matplotlib("pyplot").switch_backend("agg")
    folder = options.out / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or SCENES:
        figure = SCENES[name]()
        # Without the version in it the file changes only when the picture does.
        figure.savefig(
            folder / f"{name}.png", dpi=_DPI, bbox_inches="tight", metadata={"Software": None}
        )
        import_matplotlib("pyplot").close(figure)
        print(folder / f"{name}.png")
    if not options.names:
        (options.out / "gallery.md").write_text(page(), encoding="utf-8")
        print(options.out / "gallery.md")


if __name__ == "__main__":
    main()
