"""HATE, a Harness for Algorithm Testing and Exploration."""

__version__ = "0.1.0"
