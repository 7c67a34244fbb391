"""Settings of the site that `make docs` builds, without network and with warnings as errors."""

import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import _reference  # noqa: E402

import bayespoint  # noqa: E402

project = "bayespoint"
author = "The bayespoint developers"
project_copyright = author
version = release = bayespoint.__version__

extensions = [
    "_mathml",
    "_thumbnails",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# The pages of the reference are written from the package's `__all__`, and ignored by git.
_reference.write(HERE / "reference")

# --- Markdown and notebooks ----------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3
# The pages of the gallery are notebooks. Their pictures are drawn into them, whatever backend the
# shell asks for.
os.environ.pop("MPLBACKEND", None)
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 1800  # of a cell: a build is no timed test, and machines may be slow or busy
nb_merge_streams = True
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# --- docstrings ----------------------------------------------------------------------------------

default_role = "literal"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_validation_checks = {
    "GL08",  # no docstring
    "SS03",  # summary without a full stop
    "PR01",  # parameters that are not documented
    "PR02",  # documented parameters that do not exist
    "PR07",  # parameters without a description
    "RT01",  # no section of what is returned
    "RT03",  # what is returned without a description
    "YD01",  # what is yielded without a section
}
# Results have documented fields instead of parameters, and what some methods take and return is
# written at those of one class alone (`_reference.completed`).
numpydoc_validation_exclude = {
    *(f"^{re.escape(name)}$" for name in _reference.records()),
    *(rf"^(?!bayespoint\.kernels\.Kernel\b){pattern}$" for pattern in _reference.COMPLETED),
    r"^bayespoint\.kernels\.\w+\.(accepts_limits|accepts_sparse|requires_vector_input)$",
    # Their fields and properties have a text each.
    r"^bayespoint\.posterior\.(Mixture|Model)\.(classes|dual_coef|examples|first|intercept|totals)$",
}
nitpicky = True
# Names of other packages: their inventories are on the net, which the build must not need.
nitpick_ignore_regex = [
    (r"py:.*", r"(sklearn|numpy|scipy|matplotlib|pandas|arviz|threadpoolctl|xarray)(\..*)?")
]

# --- the site ------------------------------------------------------------------------------------

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"bayespoint {release}"
html_static_path = ["_static"]
html_extra_path = ["extra"]  # the billiard to play with
html_css_files = ["site.css"]
# Pages without pages below or beside them need no list of these.
html_sidebars: dict[str, list[str]] = {"architecture": [], "faq": []}
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 4,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "logo": {"text": project},
    # Of the sites beside this one; the newest release writes its list into all of them. On phones
    # what is at the end of the bar moves into the menu.
    "navbar_end": ["version-switcher", "theme-switcher"],
    "switcher": {"json_url": "_static/versions.json", "version_match": release},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what is scikit-learn's, which is documented there, and what users never call."""
    theirs = _reference.OF_SCIKIT_LEARN.fullmatch(name)
    return True if theirs or name in _reference.PASSED_ON else None


def _plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give the docstrings of modules, which numpydoc leaves alone, rubrics instead of titles."""
    if what != "module":
        return
    text = re.sub(r"^(.+)\n-{4,}$", r".. rubric:: \1\n", "\n".join(lines), flags=re.MULTILINE)
    lines[:] = re.sub(r"^\.\. \[(\d)\] ", r"\1. ", text, flags=re.MULTILINE).split("\n")


def _complete(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give methods the sections that another class has for them."""
    lines[:] = _reference.completed(name, lines)


def _overview(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give classes and functions their links into the guide, and classes tables of members."""
    if what in ("class", "exception", "function"):
        lines[:] = _reference.with_overview(name, obj, lines)


def _initials(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep initials at the beginning of a line from being read as the letter of a list."""
    begin = re.compile(r"^(\s*(?:- |\.\. \[\S+\] )?)([A-Za-z]\.)(?= |$)")
    lines[:] = [begin.sub(r"\1\\\2", line) for line in lines]


def _resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Find names of the package itself, such as `VersionSpace.sample`, from inside its modules."""
    if node.get("refdomain") != "py" or node["reftarget"].startswith("bayespoint."):
        return None
    return env.get_domain("py").resolve_xref(
        env,
        node["refdoc"],
        app.builder,
        node["reftype"],
        f"bayespoint.{node['reftarget']}",
        node,
        contnode,
    )


def setup(app: Any) -> dict[str, bool]:
    """Connect the functions above; numpydoc reads the docstrings with priority 500."""
    app.connect("autodoc-process-docstring", _plain, priority=400)
    app.connect("autodoc-process-docstring", _complete, priority=400)
    app.connect("autodoc-process-docstring", _overview, priority=600)
    app.connect("autodoc-process-docstring", _initials, priority=600)
    app.connect("autodoc-skip-member", _skip)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
