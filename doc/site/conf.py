# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings; build.sh makes its sources in a folder and sets TULLE_VERSION, TULLE_XML and TULLE_PYTHON."""
import importlib.util
import os
import re
import sys

project = "Tulle"
author = "The developers of Tulle"
version = release = os.environ["TULLE_VERSION"]
extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc"]
breathe_projects = {"tulle": os.environ["TULLE_XML"]}
breathe_default_project = "tulle"
breathe_domain_by_extension = {"h": "c"}
primary_domain = "c"
# the Python package is documented without its extension, without torch, whose old versions lack operators, and without
# what is not installed
sys.path.insert(0, os.environ["TULLE_PYTHON"])
autodoc_mock_imports = ["tulle._core", "torch", "torch_geometric"] + [name for name in ("numpy",) if not importlib.util.find_spec(name)]
autodoc_typehints = "none"
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "fixed_sidebar": True}
html_show_sourcelink = False
# the guides link to files of the tree, and the README's headings begin where they like
suppress_warnings = ["myst.header", "myst.xref_missing", "ref.myst"]
myst_heading_anchors = 3


def plain(app, what, name, obj, options, lines):
    """Docstrings are text: |x| is a norm, and no substitution."""
    lines[:] = [re.sub(r"([|*\\])", r"\\\1", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", plain)
