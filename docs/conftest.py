"""Which pages and scripts are not tests.

Pages whose examples need an extra are run by the tests that install it (tests/peers), not with the others. The
scripts of the gallery run when the pages are built (``make docs``), which fails where one of them does.
"""

from __future__ import annotations

collect_ignore = ["guides/opendp.md", "gallery", "auto_gallery", "_build"]
