"""Measure `wer`: all wrong words of a run over all words expected, as speech recognition reports it."""

from math import inf

from harness.measures import ratio_of_values

WER = ratio_of_values(
    "wer", "word error rate", above="errors", below="words", larger_is_better=False, bounds=(0.0, inf)
)
