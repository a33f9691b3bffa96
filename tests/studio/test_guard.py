"""Who may speak to the studio: other hosts, other pages and requests without the key are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient

from sfumato.studio.guard import HEADERS, Guard, own_hosts

HOST = "127.0.0.1:8765"
GOOD = {"host": HOST, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin", "x-sfumato-key": "k",
        "content-type": "application/json"}  # fmt: skip


async def _inner(scope: Any, receive: Any, send: Any) -> None:
    message = await receive() if scope["method"] == "POST" else {"body": b""}
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"in: " + message["body"]})


@pytest.fixture
def door() -> TestClient:
    return TestClient(Guard(_inner, own_hosts(8765), "k", largest=100, seconds=0.2), base_url=f"http://{HOST}")


def test_the_page_itself_may_ask(door: TestClient) -> None:
    answer = door.post("/api/x", content=b"{}", headers=GOOD)
    assert (answer.status_code, answer.text) == (200, "in: {}")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8765", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_host_is_refused(door: TestClient, host: str, method: str) -> None:
    """A name that somebody else may point at this machine is no name of the studio (DNS rebinding)."""
    answer = door.request(method, "/", headers={**GOOD, "host": host})
    assert answer.status_code == 421
    assert "studio" in answer.json()["error"]


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:8765", "[::1]:8765"])
def test_own_names_are_known(door: TestClient, host: str) -> None:
    assert door.post("/", content=b"{}", headers={**GOOD, "host": host, "origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"https://{HOST}"}, 403),
        ({"origin": "http://localhost:8765"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"x-sfumato-key": ""}, 403),
        ({"x-sfumato-key": "other"}, 403),
        ({"x-sfumato-key": "ké"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "multipart/form-data"}, 415),
    ],
)
def test_another_page_may_not_ask(door: TestClient, changed: dict[str, str], status: int) -> None:
    heads = {name: value.encode() for name, value in {**GOOD, **changed}.items()}
    answer = door.post("/api/x", content=b"{}", headers=heads)  # type: ignore[arg-type]
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


def test_parts_of_the_page_are_not_for_others(door: TestClient) -> None:
    assert (
        door.get("/static/x.js", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status_code
        == 403
    )
    assert door.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "heads",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
    ],
)
def test_another_page_may_not_read_answers(door: TestClient, method: str, heads: dict[str, str]) -> None:
    assert door.request(method, "/api/countries", headers=heads).status_code == 403


@pytest.mark.parametrize("heads", [{}, {"sec-fetch-site": "same-origin"}, {"origin": f"http://{HOST}"}])
def test_the_page_itself_may_read_answers(door: TestClient, heads: dict[str, str]) -> None:
    assert door.get("/api/countries", headers=heads).status_code == 200
    assert door.get("/static/x.js", headers=heads).status_code == 200
    assert door.get("/static/x.js", headers={**heads, "origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused_and_nothing_is_shared(door: TestClient, method: str) -> None:
    answer = door.request(method, "/api/x", headers=GOOD)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_carries_the_policy(door: TestClient) -> None:
    for answer in (door.get("/"), door.get("/", headers={"host": "evil"}), door.post("/", headers=GOOD)):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe-eval" not in answer.headers["content-security-policy"]
        assert "script-src 'self';" in answer.headers["content-security-policy"]


def test_large_bodies_are_refused(door: TestClient) -> None:
    assert door.post("/", content=b"x" * 101, headers=GOOD).status_code == 413
    parts = (b"x" * 60 for _ in range(2))  # without a length, counted as it comes
    assert door.post("/", content=parts, headers=GOOD).status_code == 413
    assert door.post("/", content=b"x" * 100, headers=GOOD).status_code == 200


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async def never() -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/",
             "headers": [(name.encode(), value.encode()) for name, value in GOOD.items()]}  # fmt: skip
    asyncio.run(Guard(_inner, own_hosts(8765), "k", seconds=0.05)(scope, never, send))
    assert sent[0]["status"] == 408
    assert b"longer" in sent[1]["body"]
