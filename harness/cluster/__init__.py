"""`--cluster`: cases are run on the workers of a Dask cluster, or on workers that are started here.

`options.py` has the option, `connection.py` the connection to Dask, `engine.py` the engine, which keeps the workers
busy, and `worker.py` what runs on them. `job.py` is what both sides know of a run, with the files that a worker is
sent. Nothing of Dask is imported before a run needs it.
"""

from harness.errors import HateError

ENTRY_POINTS = {"hate.engines": {"cluster": "harness.cluster.options:CLUSTER"}}


class ClusterError(HateError):
    """A cluster cannot be reached, does not fit, or was lost on the way."""
