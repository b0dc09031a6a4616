"""Mistakes of a file, collected so that they are reported together."""

from harness.errors import ScriptError

MOST_SHOWN = 20


class Mistakes:
    """Mistakes in the order they were found; the first 20 are shown, the rest counted."""

    def __init__(self, about: str) -> None:
        self.about = about
        self.shown: list[str] = []
        self.count = 0

    def add(self, text: str, *, place: str = "") -> None:
        """Note a mistake; `place` is a file and line, a key, or both."""
        self.count += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(f"{place}: {text}" if place else text)

    def raise_if_any(self) -> None:
        """End with all of them, if there are any."""
        if self.count:
            raise ScriptError(self.report())

    def report(self) -> str:
        """One mistake in a line; several, a line each."""
        if self.count == 1:
            return f"{self.about}: {self.shown[0]}"
        lines = [f"{self.about}: {self.count:,} mistakes", *(f"  {text}" for text in self.shown)]
        if self.count > len(self.shown):
            lines.append(f"  and {self.count - len(self.shown):,} more")
        return "\n".join(lines)
