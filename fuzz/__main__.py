"""`python -m fuzz`: damage files for a while and report what the harness does wrong.

python -m fuzz --minutes 60 --seed 7      an hour; the same seed tries the same inputs
python -m fuzz --repeat NAME              a case that was found before, by its name or file
python -m fuzz --list                     the formats, and the commands that read them
python -m fuzz --only transcript          only samples whose name contains this
"""

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

from fuzz.attempt import Attempt, forget_settings, try_out
from fuzz.inputs import input_samples
from fuzz.results import result_samples
from fuzz.samples import all_samples
from fuzz.worker import fuzz

FOUND = Path("fuzz-found")


def main() -> int:
    """Exit status 1 if anything was found."""
    options = _options()
    if options.repeat is not None:
        return repeat(options.repeat, options.found)
    with tempfile.TemporaryDirectory(prefix="hate-fuzz-") as scratch:
        if options.list:
            forget_settings(Path(scratch) / "home")
            for sample in all_samples(Path(scratch)):
                print(f"{sample.name}: {', '.join(sample.commands)}")
            return 0
        tried, found = fuzz(Path(scratch), options)
    print(f"{sum(tried.values()):,} inputs of {len(tried)} formats with seed {options.seed}: {len(found)} found")
    for text in found.values():
        print(f"  {text}")
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--found", type=Path, default=FOUND, metavar="FOLDER", help="where found cases are saved")
    parser.add_argument("--repeat", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def repeat(name: str, folder: Path) -> int:
    """Try a saved case again; the exit status is 1 if it is still wrong."""
    path = Path(name) if Path(name).is_file() else folder / f"{name}.json"
    attempt = Attempt.load(path)
    with tempfile.TemporaryDirectory(prefix="hate-fuzz-") as scratch:
        forget_settings(Path(scratch) / "home")
        samples = itertools.chain(input_samples(), result_samples(Path(scratch)))
        sample = next(one for one in samples if one.name == attempt.sample)
        wrong = try_out(attempt, sample, Path(scratch) / "work")
    print(f"{' '.join(attempt.words)}: {wrong or 'nothing is wrong any more'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
