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

MOST_SECRETS = 1024
"""Secrets that are drawn and designed for; tasks that take longer are for fewer."""

MOST_POINTS = 40
"""Values of ε on a curve."""

MOST_KERNELS = 120
"""Kernels that are listed one by one; all are counted."""

MOST_KEPT = 32
LARGEST_KEPT = 192 * 2**20
"""Designs that are kept, and their bytes: enough to go back and forth, and to download what is on the screen."""
