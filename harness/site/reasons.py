"""Why a request failed, in a few words."""

import re

import requests


def connection(error: requests.ConnectionError) -> str:
    """Why there is no connection, in the system's own words where it has some."""
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, OSError) and not isinstance(cause, requests.RequestException) and cause.strerror:
            return f"cannot connect: {cause.strerror}"
        inner = getattr(cause, "reason", None)
        cause = inner if isinstance(inner, BaseException) else cause.__cause__ or cause.__context__ or _argument(cause)
    return "cannot connect"


def _argument(error: BaseException) -> BaseException | None:
    """urllib3 hands the cause on as an argument."""
    return next((arg for arg in error.args if isinstance(arg, BaseException)), None)


def encryption(error: requests.exceptions.SSLError) -> str:
    """Why no encrypted connection came about."""
    found = re.search(r"CERTIFICATE_VERIFY_FAILED\] (.*?) \(_ssl", str(error), re.DOTALL)
    if found:
        return f"the server's certificate is not valid: {found[1].removeprefix('certificate verify failed: ')}"
    found = re.search(r"\[SSL: \w+\] (.*?) \(_ssl", str(error), re.DOTALL)
    return f"no encrypted connection: {found[1] if found else first_line(error)}"


def first_line(error: BaseException) -> str:
    """The libraries' own texts run over several lines."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
