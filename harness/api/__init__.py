"""The Python API: what `import harness` offers, and what the commands call."""
