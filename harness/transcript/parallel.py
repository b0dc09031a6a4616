"""Read several large transcripts side by side, on all cores.

A process reads one at a time. So others are read by processes of their own, which keep the columns in the cache, and
this one takes them from there: `python -P -m harness.transcript.parallel PATH lean|full`. If such a process fails, this
one reads the file itself, and says what is wrong with it.
"""

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.transcript.columns import Columns, read_columns
from harness.transcript.format import MIN_LINE_LENGTH
from harness.transcript.kept_columns import MIN_CASES, is_on, may_be_kept
from harness.transcript.read import UNUSABLE, read_end


def read_each(files: Sequence[tuple[Path, str]], *, lean: bool, cores: int) -> list[Columns]:
    """The columns of transcripts, given with their names for messages; see `read_columns`."""
    large = [path for path, _ in files if _is_worth_it(path)] if cores > 1 and len(files) > 1 else []
    # This process takes the first of them.
    others = [path for path in dict.fromkeys(large) if path != large[0]]
    if not others:
        return [read_columns(path, name=name, lean=lean) for path, name in files]
    from concurrent.futures import ThreadPoolExecutor  # most commands need none

    processes: list[subprocess.Popen[bytes]] = []

    def read_elsewhere(path: Path) -> None:
        none, how = subprocess.DEVNULL, "lean" if lean else "full"
        words = [sys.executable, "-P", "-m", "harness.transcript.parallel", str(path.resolve()), how]
        with contextlib.suppress(OSError):
            processes.append(process := subprocess.Popen(words, stdin=none, stdout=none, stderr=none))
            process.wait()

    with ThreadPoolExecutor(cores - 1) as pool:
        waiting = {path: pool.submit(read_elsewhere, path) for path in others}
        columns = []
        try:
            for path, name in files:
                # What nobody has begun with is read here.
                if path in waiting and not waiting[path].cancel():
                    waiting[path].result()
                columns.append(read_columns(path, name=name, lean=lean))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()
    return columns


def _is_worth_it(path: Path) -> bool:
    """Whether its columns will be kept, and are not yet. What is packed would have to be unpacked to know."""
    try:
        if path.stat().st_size < MIN_CASES * MIN_LINE_LENGTH:
            return False
        with path.open("rb") as file:
            is_plain = file.read(1) == b"{"
        end = read_end(path) if is_plain and is_on() and not may_be_kept(path) else None
    except (OSError, *UNUSABLE):
        return False
    return end is not None and end.tests >= MIN_CASES


if __name__ == "__main__":
    read_columns(Path(sys.argv[1]), lean=sys.argv[2] == "lean")
