"""One line for a paragraph, an item of a list, a row of a table: editors wrap them, and changes are easy to read."""

import re

BEGINS = re.compile(r"\s*([-*] |\d+\. |\||#|<|>|$)")


def joined(text: str) -> str:
    """A page with the lines of each paragraph joined."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        if not (fenced or fence or BEGINS.match(line)) and lines and not _ends(lines[-1]):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            lines.append(line if fenced else line.rstrip())
        fenced ^= fence
    return "\n".join(lines) + "\n"


def _ends(line: str) -> bool:
    """Whether nothing can be added to a line: blank, a row, a heading, a fence, a comment."""
    return not line.strip() or line.lstrip().startswith(("|", "#", "```", "<", ">"))
