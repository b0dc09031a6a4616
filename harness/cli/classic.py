"""The classic spelling of the tutorial (`hate -mode roc -param "threshold=0,1" hdigits`) in today's words."""

from collections.abc import Collection, Sequence

from harness.errors import UsageError

OPTIONS = ("-mode", "-param", "-format", "-interface", "-library")
# In the tutorial, data for a ROC or DET curve is the plain table of a sweep.
MODES = {"run": "run", "list-tests": "list", "roc": "sweep", "det": "sweep"}


def modern(args: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments as the command line takes them; a bare test is run."""
    if any(arg in OPTIONS for arg in args):
        return _translate(args, commands)
    if args and not args[0].startswith("-") and args[0] not in commands:
        return ["run", *args]
    return list(args)


def command_hint(args: Sequence[str], commands: Collection[str]) -> str:
    """For a first word that was taken for a test: the command that may have been meant."""
    if not args or args[0].startswith("-") or args[0] in commands:
        return ""
    import difflib

    near = difflib.get_close_matches(args[0], list(commands), n=1, cutoff=0.6)
    return f"; or is '{args[0]}' the command '{near[0]}'?" if near else ""


def _translate(args: Sequence[str], commands: Collection[str]) -> list[str]:
    command, rest = "run", []
    remaining = iter(args)
    for arg in remaining:
        if arg not in OPTIONS:
            rest.append(arg)
            continue
        value = next(remaining, None)
        if value is None:
            raise UsageError(f"{arg}: needs a value")
        if arg == "-mode":
            command = _command(value, commands)
        elif arg == "-param":
            # One string may set several, as in a shell's word list.
            rest += [word for assignment in value.split() for word in ("--param", assignment)]
        else:
            rest += [f"-{arg}", value]
    if rest and rest[0] == command:
        rest = rest[1:]
    return [command, *rest]


def _command(mode: str, commands: Collection[str]) -> str:
    command = MODES.get(mode, mode)
    if command not in commands:
        modes = (mode for mode, meant in MODES.items() if meant in commands)
        known = ", ".join(sorted({*modes, *commands}))
        raise UsageError(f"-mode {mode}: not a mode; known: {known}")
    return command
