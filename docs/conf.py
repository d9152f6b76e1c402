"""Configuration of the documentation: `make docs`."""

import importlib.util
import sys
from pathlib import Path

import homotopy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import pictures  # noqa: E402

project = "homotopy-qp"
author = "The homotopy-qp authors"
copyright = "2026, The homotopy-qp authors"
version = release = homotopy.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"
highlight_language = "none"
exclude_patterns = ["_build", "auto_examples/**/*.ipynb"]

# Formulas are set by a copy of MathJax inside the site, as SVG: no network, no fonts to load, and
# so the same in a browser that opened the page as a file.
MATHJAX = "tex-svg-full.js"
package = importlib.util.find_spec("sphinx-mathjax-offline")
html_static_path = ["_static", str(Path(package.origin).parent / "static/mathjax" / MATHJAX)]
mathjax_path = MATHJAX

# Every name in backticks is looked up.  What begins with a small letter and has no dot may be an
# argument, and need not be found; nor need the classes of other packages and inner base classes.
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r"[a-z]\w*(\(\))?"),
    ("py:obj", r"\w+_\.\w+(\(\))?"),
    ("py:obj", r"(sklearn|joblib|distributed).*|LossModel\.unknown"),
    (
        "py:obj",
        "SVC|SVR|NuSVC|OneClassSVM|ElasticNet|GridSearchCV|HuberRegressor|ConvergenceWarning",
    ),
    ("py:class", r".*"),
]

autodoc_member_order = "bysource"
# Types are in the docstrings; those of NumPy's arguments fill lines.
autodoc_typehints = "none"
autodoc_type_aliases = {"Array": "Array", "Index": "Index"}
autodoc_default_options = {"members": True, "show-inheritance": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"homotopy-qp {release}"
html_css_files = ["site.css"]
# These have no pages beneath them to list.
html_sidebars = {"index": [], "tutorial": [], "api": []}
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "homotopy-qp"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # Those left out take minutes, or start processes of their own: shown, not run.
    "filename_pattern": r"/(?!demo|dask_cluster|multiclass|robust_estimators|wrong_labels)\w+\.py$",
    "within_subsection_order": "examples_gallery.Order",
    "image_scrapers": ("examples_gallery.saved_pictures",),
    "reset_modules": ("matplotlib", "examples_gallery.reset"),
    "reset_modules_order": "both",
    "default_thumb_file": str(HERE / "_static" / "polyline.png"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}


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


PACKAGES = (
    "homotopy",
    "homotopy_plugins",
    "homotopy_plugins.kernels",
    "homotopy_plugins.models.penalties",
)


def find_in_packages(app, env, node, contnode):
    """`Path.objective` is found from anywhere: public names are unique among the packages."""
    if node.get("refdomain") == "py":
        for package in PACKAGES:
            target = f"{package}.{node['reftarget']}"
            found = env.domains["py"].resolve_xref(
                env, node["refdoc"], app.builder, "obj", target, node, contnode
            )
            if found is not None:
                return found
    return None


def setup(app):
    app.connect("missing-reference", find_in_packages)
    app.connect("autodoc-process-docstring", show_formulas_as_written, priority=400)
    app.connect("builder-inited", lambda app: pictures.draw_missing(HERE / "pictures"))
