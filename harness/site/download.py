"""Download one file: streamed into place, its size and digest checked before anyone sees it."""

import hashlib
from pathlib import Path

import requests

from harness.errors import DataError

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0


def download(url: str, target: Path, *, sha256: str, size: int | None) -> None:
    """The file at `url`; a DataError where it cannot be had or is not the one that the script means."""
    try:
        with requests.get(url, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)) as response:
            response.raise_for_status()
            if url.startswith("https:") and not response.url.startswith("https:"):
                raise DataError(f"{url}: redirected to {response.url}, which is not encrypted; refused")
            found = _save(response, target, url, size)
    except requests.RequestException as error:
        raise DataError(f"{url}: {_reason(error)}") from None
    if found != sha256:
        raise DataError(f"{url}: sha256 is {found}, the script says {sha256}; not the data of this test")


def _save(response: requests.Response, target: Path, url: str, size: int | None) -> str:
    digest, done = hashlib.sha256(), 0
    with target.open("xb") as file:
        for block in response.iter_content(1 << 20):
            done += len(block)
            if size is not None and done > size:
                raise DataError(f"{url}: longer than the {size:,} bytes that the script says; refused")
            digest.update(block)
            file.write(block)
    if size is not None and done != size:
        raise DataError(f"{url}: {done:,} bytes, the script says {size:,}; try again")
    return digest.hexdigest()


def _reason(error: requests.RequestException) -> str:
    """A request's failure in a few words; the libraries' own run over several lines."""
    if error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.SSLError):
        return "the server's certificate is not valid"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "cannot connect"
    return str(error).splitlines()[0][:200]
