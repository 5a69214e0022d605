# SPDX-License-Identifier: MIT
"""Sphinx's settings of the documentation site: build.py copies this file beside the documents."""
project = "libadsm"
copyright = "2026 libadsm authors"  # pylint: disable=redefined-builtin
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "alabaster"
html_title = "libadsm"
html_show_sphinx = False
html_show_copyright = False
# Links to headings, as in the documents. The language of code without a name is nobody's.
myst_heading_anchors = 6
highlight_language = "none"
