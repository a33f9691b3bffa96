"""How much the studio takes on: sizes, times and numbers, each with its reason."""

from __future__ import annotations

LARGEST_BODY = 4 * 2**20
"""Bytes of a request: a matrix of 400 × 400 numbers as text, or a spec of a thousand places."""

UPLOAD_SECONDS = 10.0
"""For a body to arrive: it comes from the same machine."""

WORKERS = 2
"""Processes at most: one for what is looked at, one for what is being dragged meanwhile."""

MOST_WAITING = 8
"""Requests that may wait for a worker; more are refused at once."""

SECONDS = {
    "look": 20.0,
    "design": 900.0,
    "curve": 900.0,
    "compare": 120.0,
    "kernels": 60.0,
    "verdicts": 120.0,
    "audit": 300.0,
    "mechanism": 900.0,
    "report": 900.0,
    "spec": 20.0,
    "points": 20.0,
    "cities": 20.0,
}
"""After which a worker is ended, for each task."""

MOST_SECRETS = {
    "look": 1024,
    "design": 1024,
    "curve": 400,
    "compare": 256,
    "kernels": 6,
    "verdicts": 256,
    "audit": 400,
    "mechanism": 1024,
    "report": 1024,
    "spec": 1024,
}
"""Secrets up to which a task is taken on; beyond, the command line and Python have no such limit."""

MOST_POINTS = 40
"""Values of ε on a curve."""

MOST_KERNELS = 120
"""Kernels that are listed one by one; all are counted."""

MOST_KEPT = 32
LARGEST_KEPT = 192 * 2**20
"""Designs that are kept, and their bytes: enough to go back and forth, and to download what is on the screen."""
