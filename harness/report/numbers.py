"""Numbers as tables show them."""


def span(low: float, high: float, form: str = ".4f") -> str:
    """An interval."""
    return f"{low:{form}}..{high:{form}}"


def p_text(value: float | None) -> str:
    """A p-value; nothing where there is none."""
    if value is None or value != value:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def p_is(value: float | None) -> str:
    """A p-value in a sentence: p = 0.0123, p < 0.0001."""
    text = p_text(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"
