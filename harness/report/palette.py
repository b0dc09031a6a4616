"""The colours and dashes of runs, the same in pictures, in gnuplot scripts, in reports and on the pages of a site.

`report.css` has the same colours as variables, and the dark ones for a dark page; a test holds that.
"""

# After Okabe and Ito (2008), darker: everyone can distinguish them, and as thin lines they stand out on white paper.
COLOURS = ("#0b63b0", "#c04a05", "#00805c", "#a3438a", "#80650a", "#2f7a94", "#555555")
# The same on a dark page.
DARK_COLOURS = ("#6cb2f5", "#f29a5c", "#4fcb9d", "#e08cc6", "#d9b84a", "#7fd0e8", "#cfd6dd")
PAPER, DARK_PAPER = "#ffffff", "#14181c"
# Letters and axes; what should stay in the background; lines of a grid; lines that are no data, such as a diagonal.
INK, QUIET, RULE, GUIDE = "#1b1f24", "#59636e", "#d5dbe1", "#999999"
# These distinguish lines in black and white: dashes and gaps, in widths of the line. Dots alone are the line that no
# threshold reaches.
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (5, 1.5),
    (2.4, 1.4),
    (6, 1.5, 1.4, 1.5),
    (6, 1.5, 1.4, 1.5, 1.4, 1.5),
)
DOTS = (1.0, 2.0)


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def dashes(number: int) -> tuple[float, ...]:
    return DASHES[number % len(DASHES)]
