"""Statistics for evaluations: arrays in, dataclasses out; uses numpy and scipy only, no other part of the harness."""
