"""Options that several experiments share."""

from harness.options import OptionSet, Range, option


class PermutationTestOptions(OptionSet):
    """A test by permutations."""

    permutations: int = option(
        "--permutations N", "How many permutations the test draws.", default=999, within=Range(19, 1_000_000)
    )
