"""Configuration of the documentation: `make docs`."""

import homotopy

project = "homotopy-qp"
author = "The homotopy-qp authors"
copyright = "2026, The homotopy-qp authors"
version = release = homotopy.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
default_role = "py:obj"
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Array": "Array", "Index": "Index"}
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"homotopy-qp {release}"
html_static_path: list[str] = []


def show_formulas_as_written(app, what, name, obj, options, lines):
    """Docstrings set formulas apart by indentation alone; make those blocks literal."""
    shown, last = [], ""
    for k, line in enumerate(lines):
        begins = line.startswith("    ") and k > 0 and not lines[k - 1].strip()
        if begins and last and not last.startswith((" ", "..", ":", "*", "-")):
            shown += ["::", ""]
        shown.append(line)
        last = line if line.strip() else last
    lines[:] = shown


def setup(app):
    app.connect("autodoc-process-docstring", show_formulas_as_written, priority=400)
