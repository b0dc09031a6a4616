"""Running cases on the workers of a Dask cluster: `--cluster`."""

ENTRY_POINTS = {"hate.engines": {"cluster": "harness.cluster.options:CLUSTER"}}
