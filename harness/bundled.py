"""What ships with the harness: tests, interfaces and transcripts."""

from pathlib import Path


def bundled(kind: str) -> Path:
    """The folder `test_scripts`, `interfaces` or `transcripts`, in the installed package or in a checkout."""
    package = Path(__file__).parent
    installed = package / "_bundled"
    return (installed if installed.is_dir() else package.parent) / kind
