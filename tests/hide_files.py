"""Small files of points, and the words that hide them within a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

BOX = (40.70, -74.02, 40.72, -74.00)
QUICK: dict[str, Any] = {"box": BOX, "cell": "1 km", "tolerance": 0.5}
"""A box of four cells, for which a table is found at once."""


def points(rows: int = 20, seed: int = 1) -> dict[str, Any]:
    """Rows of three people in the box."""
    place = np.random.default_rng(seed).random((2, rows)) * 0.018
    return {"id": [f"p{k % 3}" for k in range(rows)], "lat": 40.7005 + place[0], "lon": -74.0195 + place[1]}


def table(rows: int = 20, seed: int = 1) -> pa.Table:
    """The same as a table of Arrow."""
    return pa.table(points(rows, seed))


def csv_file(path: Path, rows: int = 20, seed: int = 1) -> Path:
    """The same as a file."""
    columns = points(rows, seed)
    rows_of = zip(columns["id"], *(columns[name].tolist() for name in ("lat", "lon")), strict=True)
    lines = [f"{person},{latitude!r},{longitude!r}" for person, latitude, longitude in rows_of]
    path.write_text("\n".join(["id,lat,lon", *lines, ""]))
    return path
