"""Connections: closed if no request arrives in time or nobody reads the answer, and only so many from one address."""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from harness.errors import UsageError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# One household or server has a whole network of this size in IPv6.
IPV6_PREFIX = 64
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 15\r\n"
    b"content-length: 40\r\nconnection: close\r\n\r\nToo many connections from your address.\n"
)


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections there may be, and how long they may be silent."""

    # From the connection, or the last answer, until the headers of the next request are complete.
    request_seconds: float = 15.0
    # Within this time a client must read something of what it was sent.
    reading_seconds: float = 60.0
    per_address: int = 100
    total: int = 1000


def parse_proxies(texts: Sequence[str]) -> list[Network]:
    """The addresses or networks of proxies; a UsageError for anything else."""
    try:
        return [ipaddress.ip_network(text) for text in texts]
    except ValueError as error:
        raise UsageError(f"--proxy {error}; give an address such as 127.0.0.1, or a network: 10.0.0.0/8") from None


@dataclass
class OpenConnections:
    """All connections of a server. To make room, the one that has waited longest for a request is closed."""

    limits: ConnectionLimits
    # Their connections are not limited: everyone comes through them.
    proxies: Sequence[Network] = ()
    _counts: Counter[str] = field(default_factory=Counter)
    # Those without a request, the oldest first.
    _waiting: dict["GuardedProtocol", str] = field(default_factory=dict)

    def admit(self, connection: "GuardedProtocol") -> bool:
        """Count a new connection; False if there is no room for it."""
        address = connection.address
        full = self._counts[address] >= self.limits.per_address and not self._is_proxy(connection.host)
        if full and not self._drop_oldest(address):
            return False
        if self._counts.total() >= self.limits.total and not self._drop_oldest():
            return False
        self._counts[address] += 1
        return True

    def remove(self, connection: "GuardedProtocol") -> None:
        self._waiting.pop(connection, None)
        self._counts[connection.address] -= 1
        if self._counts[connection.address] <= 0:
            del self._counts[connection.address]

    def set_waiting(self, connection: "GuardedProtocol", *, waiting: bool) -> None:
        self._waiting.pop(connection, None)
        if waiting:
            self._waiting[connection] = connection.address

    def _drop_oldest(self, address: str | None = None) -> bool:
        for connection, client in self._waiting.items():
            if address in (None, client):
                connection.drop()
                return True
        return False

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self.proxies)


def address_key(host: str) -> str:
    """What counts as one address: an IPv4 address, or a network of IPv6."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


class GuardedProtocol(HttpToolsProtocol):
    """One connection, which may not be silent for long."""

    connections_open: OpenConnections

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.host = ""
        # What is counted together with this connection.
        self.address = ""
        self._admitted = False
        self._request_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, or refuse the connection."""
        super().connection_made(transport)
        self.host = self.client[0] if self.client else ""
        self.address = address_key(self.host)
        self._admitted = self.connections_open.admit(self)
        if self._admitted:
            self._wait_for_request()
        else:
            transport.write(REFUSAL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for others."""
        self._stop_timers()
        if self._admitted:
            self._admitted = False
            self.connections_open.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Ignore what arrives on a connection that was refused or is being closed."""
        if not self.transport.is_closing():
            super().data_received(data)

    def on_headers_complete(self) -> None:
        """A request has arrived."""
        if self._request_timer is not None:
            self._request_timer.cancel()
        self.connections_open.set_waiting(self, waiting=False)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is here already."""
        pipelined = bool(self.pipeline)
        super().on_response_complete()
        if not pipelined and not self.transport.is_closing():
            self._wait_for_request()

    def pause_writing(self) -> None:
        """The client does not read; see how long."""
        super().pause_writing()
        seconds = self.connections_open.limits.reading_seconds
        self._reading_timer = self.loop.call_later(seconds, self.drop)

    def resume_writing(self) -> None:
        """The client has read something."""
        if self._reading_timer is not None:
            self._reading_timer.cancel()
        super().resume_writing()

    def drop(self) -> None:
        """Close the connection at once; what was not read yet is lost."""
        self._stop_timers()
        if self._admitted:
            self._admitted = False
            self.connections_open.remove(self)
        self.connections.discard(self)
        self.transport.abort()

    def _wait_for_request(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
        self.connections_open.set_waiting(self, waiting=True)
        self._request_timer = self.loop.call_later(self.connections_open.limits.request_seconds, self.drop)

    def _stop_timers(self) -> None:
        for timer in (self._request_timer, self._reading_timer):
            if timer is not None:
                timer.cancel()


def guarded_protocol(limits: ConnectionLimits, proxies: Sequence[Network]) -> type[asyncio.Protocol]:
    """The protocol of one server, whose connections are counted together."""
    return type("CountedProtocol", (GuardedProtocol,), {"connections_open": OpenConnections(limits, proxies)})
