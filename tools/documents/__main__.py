"""python -m tools.documents [--update] [PAGE...]: see the package."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.documents.checking import check_page, update_page
from tools.documents.mentions import wrong_mentions
from tools.documents.pages import PAGES


def main(words: Sequence[str]) -> int:
    """Check pages, or refresh them."""
    parser = argparse.ArgumentParser(prog="python -m tools.documents", description="Do pages print what they show?")
    parser.add_argument("--update", action="store_true", help="write what is printed now into the pages")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="all pages if none is named")
    given = parser.parse_args(words)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, page in enumerate(given.pages or PAGES):
            found = check_page(page.resolve(), root=Path(scratch, str(number)), fonts=Path(scratch, "fonts"))
            unknown = wrong_mentions(page.resolve())
            for finding in (*found, *unknown):
                print(finding)
            wrong += len(found) + len(unknown)
            if given.update:
                update_page(page, found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
