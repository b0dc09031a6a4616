"""The fuzzer: damaged files of every format through every command that reads them. `python -m fuzz --help`."""
