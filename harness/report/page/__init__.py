"""Reports as a page: what is in them, and how it is drawn as HTML, Markdown and PDF."""
