"""The bundled images, unpacked once."""

import pytest

from tests.bundled.bundle import Bundle, unpack


@pytest.fixture(scope="session")
def hdigits(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return unpack("hdigits", tmp_path_factory.mktemp("hdigits"))


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return unpack("blank", tmp_path_factory.mktemp("blank"))
