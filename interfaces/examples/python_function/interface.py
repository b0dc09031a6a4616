"""The least that an interface can be: one function. It knows only the 0, by its empty middle, and refuses the rest."""

from pathlib import Path

NAME = "hole"


def answer(case, params):
    pixels = Path(case.input).read_bytes()[-64:]
    return "0" if pixels[27] + pixels[28] + pixels[35] + pixels[36] < 8 else None
