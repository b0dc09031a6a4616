"""Find and load an interface: by name, file or folder, in the working folder, or from a Python object."""

from dataclasses import replace
from pathlib import Path

from harness.bundled import bundled
from harness.errors import InterfaceError, UsageError
from harness.interface.contract import FILES, Interface
from harness.params import nearest

# How a similarity matrix is named: matrix:FILE.
MATRIX = "matrix:"


def load_interface(
    source: object = None,
    name: str | None = None,
    *,
    isolate: bool = False,
    test_folder: Path | None = None,
    larger_is_better: bool = True,
) -> Interface:
    """Load and check an interface; `name` replaces the algorithm's own name.

    A string or a path names one, None means the one in the working folder, and anything else is a Python object, or
    has been loaded already.
    With `isolate`, Python code is loaded only in a process of its own. With a test, `matrix:FILE` is a matrix, perhaps
    in the folder of the test, which says whether its numbers are similarities.
    """
    if isinstance(source, str) and source.startswith(MATRIX) and test_folder is not None:
        from harness.interface.matrix import load_matrix  # numpy is slow to import

        matrix = load_matrix(source.removeprefix(MATRIX), test_folder, larger_is_better=larger_is_better)
        return with_name(matrix, name)
    if source is not None and not isinstance(source, (str, Path)):
        from harness.interface.python import python_object

        interface = source if isinstance(source, Interface) else python_object(source)
        if isolate:
            raise UsageError(f"isolate: {interface.name} is an object of this program; put it into a file interface.py")
        return with_name(interface, name)
    path = find_interface(None if source is None else str(source))
    if path.suffix == ".py" and isolate:
        from harness.interface.python_isolated import load_isolated

        interface = load_isolated(path)
    elif path.suffix == ".py":
        from harness.interface.python import load_python

        interface = load_python(path)
    else:
        from harness.interface.toml import load_toml

        interface = load_toml(path)
    return with_name(interface, name)


def with_name(interface: Interface, name: str | None) -> Interface:
    """The interface with another name for its algorithm; None keeps the name."""
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise UsageError(f"name={name!r:.60}: not a name; give one, or leave it out for the algorithm's own")
    return interface if name is None else replace(interface, name=name)


def find_interface(text: str | None) -> Path:
    if text is None:
        file = _in_folder(Path())
        if file is None:
            raise InterfaceError(
                "no interface.py or interface.toml here; write one with `hate new interface`, "
                "or name a bundled one with --interface: " + ", ".join(bundled_interfaces())
            )
        return file
    path = Path(text)
    if path.is_file() and path.suffix in (".py", ".toml"):
        return path
    if path.is_dir() and (file := _in_folder(path)) is not None:
        return file
    if text in bundled_interfaces():
        return bundled_interfaces()[text]
    if path.is_file():
        raise InterfaceError(f"--interface {text}: an interface is a .py or a .toml file; see `hate new interface`")
    if path.is_dir():
        raise InterfaceError(f"--interface {text}: no interface.py or interface.toml in that folder")
    hint = nearest(text, bundled_interfaces())
    raise InterfaceError(f"--interface {text}: neither a file nor a bundled interface; {hint}")


def bundled_interfaces() -> dict[str, Path]:
    """The interfaces that ship with the harness, by name; the examples are examples/NAME."""
    root = bundled("interfaces")
    folders = sorted(path for pattern in ("*", "examples/*") for path in root.glob(pattern) if path.is_dir())
    return {folder.relative_to(root).as_posix(): file for folder in folders if (file := _in_folder(folder)) is not None}


def _in_folder(folder: Path) -> Path | None:
    return next((folder / name for name in FILES if (folder / name).is_file()), None)
