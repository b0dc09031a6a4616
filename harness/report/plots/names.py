"""The names in a picture: as they are, or as --label says."""

from harness.errors import UsageError
from harness.options import PictureOptions
from harness.report.text import safe, shortened

# How many names an error lists.
MAX_LISTED = 12
HAIR_SPACE = "\u200a"


class PictureNames:
    """Remembers which names a picture has, so that a label for another one can be refused."""

    def __init__(self, look: PictureOptions) -> None:
        self._labels = look.label
        self._known: dict[str, None] = {}

    def shown(self, name: str, longest: int = 28) -> str:
        """What --label says, else the name, short enough for a legend."""
        self._known[name] = None
        label = next((word[len(name) + 1 :] for word in self._labels_of(name)), None)
        text = shortened(name, longest) if label is None else safe(label)
        # A legend leaves out what begins with an underscore.
        return f"{HAIR_SPACE}{text}" if text.startswith("_") else text

    def _labels_of(self, name: str) -> list[str]:
        return [word for word in self._labels if word.startswith(f"{name}=")]

    def check(self) -> None:
        """Raise an error for a label whose name is not in the picture, and for a name with two labels."""
        for name in self._known:
            longer = {word for other in self._known if other.startswith(f"{name}=") for word in self._labels_of(other)}
            if len(words := set(self._labels_of(name)) - longer) > 1:
                raise UsageError(f"--label: '{safe(name)}' is given twice: {', '.join(sorted(words))}; leave one out")
        for word in self._labels:
            if not any(word.startswith(f"{name}=") for name in self._known):
                known = ", ".join(safe(name) for name in list(self._known)[:MAX_LISTED])
                raise UsageError(f"--label {word}: write NAME=TEXT, with a name in the picture: {known}")
