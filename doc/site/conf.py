# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings; build.sh makes its sources in a folder and sets TULLE_VERSION."""
import os

project = "Tulle"
author = "The developers of Tulle"
version = release = os.environ["TULLE_VERSION"]
extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc"]
breathe_projects = {"tulle": os.environ["TULLE_XML"]}
breathe_default_project = "tulle"
breathe_domain_by_extension = {"h": "c"}
primary_domain = "c"
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "fixed_sidebar": True}
html_show_sourcelink = False
# the guides link to files of the tree, and the README's headings begin where they like
suppress_warnings = ["myst.header", "myst.xref_missing", "ref.myst"]
myst_heading_anchors = 3
