"""The routes: every task is a POST that answers with a stream of events: progress, then one result or one failure."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from sfumato.errors import InvalidInput, SfumatoError
from sfumato.specs.cities import countries
from sfumato.studio.form import described
from sfumato.studio.jobs import Busy, Workers, sentence
from sfumato.studio.requests import TASKS, checked, checked_spec, key_of

# Designs that are kept, and their bytes: enough to go back and forth, and to download what is on the screen.
_MOST_KEPT, _LARGEST_KEPT = 32, 192 * 2**20


@dataclass(eq=False)
class KeptDesigns:
    """Designs that were made lately, as bytes that only workers read; the least recently used ones go first."""

    most: int = _MOST_KEPT
    largest: int = _LARGEST_KEPT
    designs: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    size: int = 0

    def get(self, key: str) -> bytes | None:
        """The design of a question, if it is still there."""
        if key in self.designs:
            self.designs.move_to_end(key)
        return self.designs.get(key)

    def put(self, key: str, design: bytes) -> None:
        """Keep a design, and as many others as there is room for."""
        if len(design) > self.largest:
            return
        self.size += len(design) - len(self.designs.pop(key, b""))
        self.designs[key] = design
        while len(self.designs) > self.most or self.size > self.largest:
            self.size -= len(self.designs.popitem(last=False)[1])


def routes(workers: Workers, kept: KeptDesigns) -> APIRouter:
    """All that the page asks for; what it is made of is served beside."""
    router = APIRouter(prefix="/api")

    @router.get("/countries")
    async def known_countries() -> list[tuple[str, str]]:
        return sorted(countries().items(), key=lambda country: country[1])

    @router.get("/form")
    async def form() -> dict[str, Any]:
        return described()

    @router.post("/stop/{job}")
    async def stop(job: str) -> dict[str, bool]:
        return {"stopped": workers.stop(job)}

    @router.post("/{task}")
    async def answer(task: str, request: Request) -> Response:
        if task not in TASKS:
            return JSONResponse({"error": "the studio has no such task"}, 404)
        try:
            values = checked(task, await _json(request))
            if "spec" in values:
                checked_spec(values["spec"], task)
        except SfumatoError as error:
            return JSONResponse({"error": sentence(error)}, 422)
        return _Events(task, values, request, workers, kept)

    return router


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InvalidInput("the request is not JSON") from None


class _Events(StreamingResponse):
    """The messages of a worker as server-sent events. A page that is gone ends the worker, whatever was being sent."""

    def __init__(
        self, task: str, values: dict[str, Any], request: Request, workers: Workers, kept: KeptDesigns
    ) -> None:
        self.job, self.task, self.values, self.request = token_hex(8), task, values, request
        self.workers, self.kept = workers, kept
        super().__init__(self._events(), media_type="text/event-stream")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the events; an answer that is cut off while one is being sent leaves its iterator as it was."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.workers.leave(self.job)

    async def _events(self) -> AsyncIterator[str]:
        key = key_of(self.values["spec"]) if TASKS[self.task].designs else ""
        yield _event("started", {"job": self.job})
        messages = self.workers.run(self.job, self.task, self.values, self.kept.get(key), TASKS[self.task].seconds)
        try:
            async for message in messages:
                if message.kept is not None and key:
                    self.kept.put(key, message.kept)
                if message.kind == "progress" and await self.request.is_disconnected():
                    return
                yield _event(message.kind, message.content)
        except Busy:
            yield _event("failure", {"error": "the studio is busy: try again in a moment"})
        finally:
            await messages.aclose()  # type: ignore[attr-defined]


def _event(kind: str, content: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(content, ensure_ascii=False, allow_nan=False)}\n\n"
