"""A studio to ask, with its key, and a way to read its streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

import sfumato.studio

PORT, KEY = 8765, "a key for tests"
STATIC = Path(sfumato.studio.__file__).parent / "static"
START: dict[str, Any] = json.loads((STATIC / "start.json").read_text())


class Studio:
    """Asks like the page does: a POST with the key, answered by events."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def post(self, path: str, values: Any, **headers: str) -> Any:
        sent = {"x-sfumato-key": KEY, "content-type": "application/json", **headers}
        return self.client.post(path, content=json.dumps(values), headers=sent)

    def events(self, task: str, **values: Any) -> list[tuple[str, dict[str, Any]]]:
        answer = self.post(f"/api/{task}", values)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/event-stream")
        return [read(block) for block in answer.text.strip().split("\n\n")]

    def ask(self, task: str, **values: Any) -> dict[str, Any]:
        kind, content = self.events(task, **values)[-1]
        assert kind == "result", content
        return content

    def refusal(self, task: str, **values: Any) -> str:
        """The sentence of an error, wherever it was found."""
        answer = self.post(f"/api/{task}", values)
        if answer.status_code != 200:
            return str(answer.json()["error"])
        kind, content = read(answer.text.strip().split("\n\n")[-1])
        assert kind == "failure", content
        return str(content["error"])


def read(block: str) -> tuple[str, dict[str, Any]]:
    first, second = block.split("\n")
    return first.removeprefix("event: "), json.loads(second.removeprefix("data: "))
