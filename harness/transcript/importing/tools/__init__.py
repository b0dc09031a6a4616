"""One file for each tool, or kind of file: how it is recognised by its content, and read."""
