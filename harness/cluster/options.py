"""The option `--cluster`, and the entry of the engine that it chooses."""

from harness.options.declaration import OptionSet, option
from harness.options.entries import EngineEntry

# An address of workers that are started here.
LOCAL = "local:"
MAX_LOCAL_WORKERS = 1000
SCHEMES = ("tcp", "tls", "ws", "wss")


def cluster_address(text: str) -> str:
    """`local:N`, or the address of a Dask scheduler."""
    address = text.strip()
    scheme, mark, rest = address.partition("://")
    if mark and scheme in SCHEMES and rest:
        return address
    count = address.removeprefix(LOCAL)
    if count != address and count.isascii() and count.isdigit() and 1 <= int(count) <= MAX_LOCAL_WORKERS:
        return address
    raise ValueError(
        f"'{text}' is not a cluster; write local:N for N workers here, or the address of a Dask scheduler, "
        "tcp://host:8786"
    )


class ClusterOptions(OptionSet):
    """Where cases are run."""

    cluster: str | None = option(
        "--cluster ADDRESS|local:N",
        "Run on the workers of a Dask scheduler, tcp://host:8786, or on N workers that are started here.",
        default=None,
        parse=cluster_address,
    )


CLUSTER = EngineEntry(
    name="cluster",
    options=ClusterOptions,
    where="harness.cluster.engine:ClusterEngine",
    library="distributed",
    extra="Dask: pip install 'hate-harness[cluster]'",
)
