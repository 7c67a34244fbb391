"""Writes pages of pictures with the code that draws them."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayespoint.plotting.style import import_matplotlib

SHADES = ("#6BAED6", "#F7F7F7", "#F4A36C")
"""Fill colors: light blue, nearly white, light orange."""

_DPI = 80
_DPI_ANIMATED = 46
_LARGE = 90_000
"""Size in bytes above which a file is reduced to 256 colors."""

Scenes = Mapping[str, Callable[[], Any]]


def code_of(draw: Callable[[], Any], name: str) -> str:
    """Return the lines of a function below its docstring, with its result assigned to `name`."""
    body = inspect.getsource(draw).split('"""\n', 1)[1]
    return textwrap.dedent(body).rstrip().replace("return ", f"{name} = ", 1)


def preamble(draw: Callable[[], Any], data: str) -> str:
    """Return the imports and data of a module, which all its pictures need.

    The data begin with the text `data`, and end before the first picture, `draw`.
    """
    source = inspect.getsource(sys.modules[draw.__module__])
    imports = source[source.index("import numpy") : source.index("__all__")].strip()
    imports = imports.replace("from bayespoint.papers import pictures\n", "")
    lines = source[source.index(data) : source.index(f"def {draw.__name__}")].strip()
    return imports.replace("pictures, ", "") + "\n\n" + lines


def page(template: str, preamble: str, codes: Mapping[str, str]) -> str:
    """Return the text of a template with the code of its pictures in their places."""
    codes = {"preamble": preamble, **codes}
    return template.format(**{key: f"```python\n{code}\n```" for key, code in codes.items()})


def save(picture: Any, path: Path) -> None:
    """Write a figure, a display or an animation to a file, on white, and close it."""
    picture = getattr(picture, "figure_", picture)
    pyplot = import_matplotlib("pyplot")
    if path.suffix == ".gif":
        picture.save(path, "pillow", dpi=_DPI_ANIMATED, savefig_kwargs={"facecolor": "white"})
        pyplot.close(picture._fig)
        return
    # Without matplotlib's version in it, the file changes only if the picture does.
    picture.savefig(
        path, dpi=_DPI, bbox_inches="tight", facecolor="white", metadata={"Software": None}
    )
    pyplot.close(picture)
    if path.stat().st_size > _LARGE:
        from PIL import Image  # a dependency of matplotlib

        with Image.open(path) as image:
            few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


def command(
    prog: str,
    description: str,
    scenes: Scenes,
    files: Mapping[str, str],
    page: tuple[str, Callable[[], str]],
    arguments: Sequence[str] | None,
) -> int:
    """Draw the pictures of a page into a folder, write the page, and return the exit status 0.

    `prog` is the command. A scene returns a figure, a display, or an animation for a ``.gif``. The
    paths of `files` and of the page are relative to the folder.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("docs"),
        help="folder for the page and its pictures; default: %(default)s",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"pictures to draw, by default all with the page: {', '.join(scenes)}",
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in scenes]
    if unknown:
        parser.error(f"no picture named {', '.join(unknown)}; there are {', '.join(scenes)}")
    import_matplotlib("pyplot").switch_backend("agg")
    for name in options.names or scenes:
        path = options.out / files[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        save(scenes[name](), path)
        print(path)
    if not options.names:
        place, text = page
        (options.out / place).parent.mkdir(parents=True, exist_ok=True)
        (options.out / place).write_text(text(), encoding="utf-8")
        print(options.out / place)
    return 0
