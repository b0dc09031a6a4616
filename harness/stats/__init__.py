"""Statistics for evaluations: arrays in, dataclasses out; numpy and scipy only, nothing of the harness."""
