"""What is wrong with a line of a transcript, in words that help to find it."""

import msgspec

LONGEST_SHOWN = 60
# What msgspec raises for anything but the expected JSON.
UNUSABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_number = msgspec.json.Decoder(float | None)


def error_text(error: Exception) -> str:
    """What is wrong, in words."""
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def explain(line: bytes, error: Exception) -> str:
    """What is wrong with the line of a record."""
    if isinstance(error, msgspec.ValidationError):
        try:
            outcome = msgspec.json.decode(line).get("outcome")
            if outcome not in ("TP", "TN", "FP", "FN"):
                return f"outcome {outcome!r} is not one of TP, TN, FP, FN"
        except (*UNUSABLE, AttributeError):
            pass
        if "`$.values" in str(error):
            return _explain_values(line) or error_text(error)
    return error_text(error)


def _explain_values(line: bytes) -> str:
    """Which of the values is bad, as msgspec does not say; empty if the line is bad in another way, too."""
    try:
        values = msgspec.json.decode(line, type=dict[str, msgspec.Raw])["values"]
    except UNUSABLE:
        return ""
    if not bytes(values).startswith(b"{"):
        return f"values {_cut(values)} is not a mapping of names to numbers; leave it out if there are none"
    for name, raw in msgspec.json.decode(values, type=dict[str, msgspec.Raw]).items():
        try:
            _number.decode(raw)
        except UNUSABLE:
            return f"values: {name!r} is {_cut(raw)}, not a finite number; leave it out if there is none"
    return ""


def _cut(raw: msgspec.Raw) -> str:
    text = bytes(raw).decode(errors="replace")
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
