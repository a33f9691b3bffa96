"""What processes do that share a ledger (tests/release/test_ledger.py), in a module that they find by its name."""

from __future__ import annotations

import random
from pathlib import Path
from time import sleep
from typing import Any

from sfumato.errors import BudgetExceeded
from sfumato.release.ledger.ledger import Ledger


def spend(path: Path, who: int, charges: int, promise: Any, results: Any) -> None:
    """Charge so many times; report how often it was granted and how often refused."""
    ledger = Ledger(path)
    granted = refused = 0
    for k in range(charges):
        try:
            ledger.charge(dataset="d", column="c", mechanism=promise, token=f"{who}-{k}")
            granted += 1
        except BudgetExceeded:
            refused += 1
    results.put((granted, refused))


def spend_until_killed(path: Path, who: str, promise: Any, diary: Path) -> None:
    """Charge again and again; write down what is tried and what is done."""
    ledger = Ledger(path)
    rng = random.Random(who)
    with diary.open("a", buffering=1) as file:
        for k in range(100_000):
            file.write(f"try {who}-{k}\n")
            ledger.charge(dataset="d", column="c", mechanism=promise, token=f"{who}-{k}")
            file.write(f"did {who}-{k}\n")
            sleep(rng.random() * 0.002)


def create(path: Path, promise: Any, gate: Any, results: Any) -> None:
    """Open a ledger that may not be there yet, all at once, and charge."""
    gate.wait()
    Ledger(path, limit=100).charge(dataset="d", column="c", mechanism=promise)
    results.put(None)
