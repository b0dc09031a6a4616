"""The option `--cluster`, and the engine that it chooses."""

from harness.options.declaration import OptionSet, option
from harness.options.entries import EngineEntry


def cluster_address(text: str) -> str:
    """`local:N`, or the address of a Dask scheduler."""
    scheme, mark, rest = text.strip().partition("://")
    if mark and scheme in ("tcp", "tls", "ws", "wss") and rest:
        return text.strip()
    count = text.strip().removeprefix("local:")
    if text.strip().startswith("local:") and count.isascii() and count.isdigit() and 1 <= int(count) <= 1000:
        return text.strip()
    raise ValueError(
        f"'{text}' is not a cluster; write local:N for N workers here, or the address of a Dask scheduler, "
        "tcp://host:8786"
    )


class ClusterOptions(OptionSet):
    """Where cases are run."""

    cluster: str | None = option(
        "--cluster",
        default=None,
        parse=cluster_address,
        metavar="ADDRESS|local:N",
        help="Run on the workers of a Dask scheduler, tcp://host:8786, or on N workers that are started here.",
    )


CLUSTER = EngineEntry(
    name="cluster",
    options=ClusterOptions,
    where="harness.engine.cluster:ClusterEngine",
    library="distributed",
    extra="Dask: pip install 'hate-harness[cluster]'",
)
