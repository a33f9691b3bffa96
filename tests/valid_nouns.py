"""Values that calls of public functions share: each is built when it is first needed, once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import sfumato as sf
from sfumato import continuous as co
from sfumato.draws.randomness import SeededBits
from sfumato.mechanisms import Lattice
from sfumato.release.ledger.ledger import Ledger

__all__ = ["for_opendp", "ledger_of", "noun", "ones", "rows", "saved"]


@cache
def noun(name: str) -> Any:
    """A value that several calls share, built when it is first needed."""
    return NOUNS[name]()


def ones(word: str) -> int:
    """A query on the words of a Hamming space."""
    return word.count("1")


def _mechanism() -> sf.Mechanism:
    return sf.prove([[4, 1, 1], [2, 2, 2], [1, 1, 4]], noun("privacy"))


def saved(name: str = "valid.sfm") -> str:
    path = Path(mkdtemp(dir=".")) / name
    sf.save(noun("mechanism"), path)
    return str(path)


def rows() -> str:
    path = Path(mkdtemp(dir=".")) / "rows.csv"
    path.write_text("id,x\n1,0\n2,1\n3,2\n")
    return str(path)


def ledger_of() -> Ledger:
    ledger = Ledger(Path(mkdtemp(dir=".")) / "valid.ledger")
    ledger.charge(dataset="people", column="x", mechanism=noun("mechanism"))
    return ledger


def for_opendp() -> sf.Mechanism:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return noun("mechanism")


def _seeded() -> SeededBits:
    with warnings.catch_warnings(action="ignore", category=sf.draws.InsecureSeed):
        return SeededBits(1)


NOUNS: dict[str, Callable[[], Any]] = {
    "prior map": lambda: sf.report.prior_map({"one": noun("channel")}, noun("loss"), noun("privacy"), 4),
    "space": lambda: sf.line(3),
    "square": lambda: sf.grid(2, 2),
    "flat": lambda: sf.discrete(3),
    "bits": lambda: sf.hamming(2),
    "privacy": lambda: sf.PrivacyType(noun("space"), alpha="1/2"),
    "irrational": lambda: sf.PrivacyType(noun("space"), epsilon=1),
    "flat privacy": lambda: sf.PrivacyType(noun("flat"), alpha="1/2"),
    "pair privacy": lambda: sf.PrivacyType(sf.line(2), alpha="1/2"),
    "square privacy": lambda: sf.PrivacyType(noun("square"), epsilon=1),
    "prior": lambda: sf.Prior(noun("space"), ["1/2", "1/4", "1/4"]),
    "other prior": lambda: sf.Prior(noun("space"), ["1/4", "1/4", "1/2"]),
    "flat prior": lambda: sf.Prior.uniform(noun("flat")),
    "mechanism": _mechanism,
    "channel": lambda: noun("mechanism").channel,
    "identity": lambda: sf.Channel.identity(noun("space")),
    "bit channel": lambda: sf.Channel(range(2), [["3/4", "1/4"], ["1/4", "3/4"]]),
    "loss": lambda: sf.losses.absolute(noun("space")),
    "gain": lambda: sf.losses.guess(noun("space")),
    "hyper": lambda: sf.hyper(noun("prior"), noun("channel")),
    "design": lambda: sf.design(noun("prior"), noun("loss"), noun("privacy")),
    "curve": lambda: sf.curve(noun("prior"), noun("loss"), noun("space"), ["1/2", 1]),
    "predicate": lambda: sf.predicates.epsilon_delta(delta="1/10", alpha="1/2"),
    "definition": lambda: sf.privacy.probabilistic(delta="1/10", alpha="1/2"),
    "tradeoff": lambda: sf.privacy.tradeoff(noun("channel"), 0, 1),
    "breach": lambda: sf.privacy.satisfies_axioms(sf.privacy.probabilistic(delta="1/10", alpha="1/2")).witness.breach,
    "interval": lambda: co.Interval(Fraction(0), Fraction(1)),
    "density": co.Density.uniform,
    "laplace": lambda: co.laplace(1),
    "truncated": lambda: co.truncated_laplace(alpha="1/16"),
    "pixelated": lambda: co.pixelate(noun("truncated"), 4),
    "smear": lambda: co.smear(noun("truncated"), 2),
    "error": co.absolute_error,
    "halves": lambda: sf.Prior.uniform(co.lattice_space(2)),
    "lattice loss": lambda: co.lattice_loss(noun("error"), 2),
    "lattice": lambda: Lattice((2, 2)),
    "cells": lambda: sf.mechanisms.lattice_tight_constraints(noun("lattice"), epsilon=3),
    "product": lambda: sf.mechanisms.product_mechanism(noun("mechanism"), noun("mechanism")),
    "star": lambda: sf.compatibility.epsilon_star(noun("space"), 1, "1/4"),
    "chains": lambda: sf.spaces.is_uniformly_sensitive(ones, noun("bits"), noun("space")).witness,
    "seeded": _seeded,
    "strip": lambda: sf.spaces.box((6,), step=1),
    "strip noise": lambda: sf.mechanisms.laplace_noise(sf.PrivacyType(noun("strip"), epsilon=1), parts=1),
    "town": lambda: sf.spaces.earth_box(48, 2, sides=(10, 10), step=5),
    "kernels": lambda: sf.types.kernels(noun("privacy")),
}  # fmt: skip
