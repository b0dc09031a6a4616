"""Every sample."""

from pathlib import Path

from fuzz.inputs import input_samples
from fuzz.results import result_samples
from fuzz.sample import Sample


def all_samples(scratch: Path) -> list[Sample]:
    """Every sample, in the order in which they take turns."""
    return [*input_samples(), *result_samples(scratch)]
