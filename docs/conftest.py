"""Pages whose examples need an extra are run by the tests that install it (tests/peers), not with the others."""

from __future__ import annotations

collect_ignore = ["guides/opendp.md"]
