"""Settings of Sphinx for the documentation of the Python package. `make docs` builds it."""

from __future__ import annotations

from typing import Any

import m3svm

project = "m3svm"
author = "the m3svm contributors"
version = release = m3svm.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
nitpicky = False

html_theme = "furo"
html_title = f"m3svm {release}"
# Nothing is fetched from elsewhere when a page is read.
html_theme_options = {"navigation_with_keys": True}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
# The template lists the methods.
numpydoc_show_class_members = False


def skip(app: Any, what: str, name: str, item: Any, skipped: bool, options: Any) -> bool | None:
    """Leaves out what every estimator of scikit-learn has, and is described there."""
    return True if name.startswith(("set_", "get_")) or name == "score" else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", skip)
