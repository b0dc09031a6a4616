"""The documentation as a site: python -m sphinx -W -b html docs build/docs.

The pages are plain Markdown that reads well as it is, so links are relative paths, and headings have the names that
GitHub gives them.
"""

import os
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

from harness import __version__

project = "hate"
author = "the authors of hate"
version = release = __version__

extensions = ["myst_parser", "sphinx_copybutton"]
nitpicky = True
# Deep enough that every link to a heading is checked.
myst_heading_anchors = 5
# Commands are copied without their prompt and without what they print.
copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = f"hate {version}"
html_copy_source = False
html_show_sourcelink = False


def offer_files_outside(app: Sphinx, tree: nodes.document) -> None:
    """A link to a Markdown file that is no page of the site becomes a download, as it is with all other files."""
    for link in list(tree.findall(pending_xref)):
        path = Path(app.srcdir, str(link["reftarget"]) + ".md")
        if link["reftarget"] not in app.env.found_docs and path.is_file():
            target = "/" + os.path.relpath(path, app.srcdir)
            link.replace_self(download_reference("", *link.children, reftarget=target, refdoc=link["refdoc"]))


def setup(app: Sphinx) -> None:
    """Called by Sphinx; the priority is that of what comes before files are collected."""
    app.connect("doctree-read", offer_files_outside, priority=400)
