"""Run every command of the README and of docs/, and check that it prints what the page says.

    python -m tools.documents                           # all pages
    python -m tools.documents docs/how-to/rate.md       # one
    python -m tools.documents --update PAGE...          # write what is printed now into pages; then look at the diff

The rules of a page:

- A ```console block is a terminal: lines that begin with `$ ` are typed, the rest is printed, on stdout or stderr, into
  a pipe. A command goes on after a backslash at the end of a line, and in lines that begin with `> `. All blocks of a
  page are one shell, in an empty folder. A command after which nothing is shown must succeed; after one that fails,
  `echo $?` asks for the exit status.
- A page with the line <!-- in a checkout --> has examples/, interfaces/ and test_scripts/ in its folder.
- A page with a line such as <!-- needs: gcc make --> is not tested where these programs are missing.
- ```python blocks are run too, in one interpreter for the page; ```pycon blocks show what is printed after `>>> `.
- A block with a name, ```python interface.py, is that file, and is there for the commands that follow.
- A ```diff block has the name of a file of the package, and is a step of a recipe: tests/recipes/ follows it.
- ```toml and ```json blocks without a name are parts of files, and valid by themselves. ```json with a command, as in
  ```json hate rate wisard --format json, is a part of what that command prints: it has every key.
- A line `...` stands for any number of lines, and `...` within a line for any text: what differs from run to run.
- Sentences of more than 100 columns are folded; the page's folder is shown as /home/you/work; port 8000 is any port.
- A command or an option in running text, `hate rate --by noise` or `--by`, is one that `hate` has; it is not run.
- What cannot be run is a block of another language, with the reason before it: <!-- not run: needs a cluster -->.
- A paragraph, an item, a row is one line.
"""
