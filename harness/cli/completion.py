"""`hate completion`: shell completion."""

import click
from click.shell_completion import get_completion_class

from harness.errors import UsageError


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell, such as `eval "$(hate completion bash)"`."""
    from harness.cli.main import hate

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"{shell}: no completion for this shell")
    print(kind(hate, {}, "hate", "_HATE_COMPLETE").source())
