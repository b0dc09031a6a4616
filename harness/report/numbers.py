"""Numbers as tables show them."""


def span(low: float, high: float, form: str = ".4f") -> str:
    """An interval."""
    return f"{low:{form}}..{high:{form}}"


def p_text(value: float | None) -> str:
    """A p-value; nothing where there is none."""
    if value is None or value != value:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"
