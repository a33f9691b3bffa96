"""A studio to ask, with its key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from sfumato.studio.server import app
from studio_client import KEY, PORT, Studio


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    with TestClient(app(PORT, KEY, warm=False), base_url=f"http://127.0.0.1:{PORT}") as made:
        yield made


@pytest.fixture(scope="session")
def studio(client: TestClient) -> Studio:
    return Studio(client)
