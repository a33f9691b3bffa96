"""What somebody who knows a prior says of single released rows: posteriors, best actions, credible sets."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch
from sfumato.release.estimation.rows import credible_sets, posteriors, remap_rows

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/4"))


def test_rows_get_posteriors_actions_and_credible_sets() -> None:
    prior = sf.Prior(["a", "b", "c"], ["1/2", "1/4", "1/4"])
    table = posteriors(prior, RESPONSE)
    assert table.rows(["c", "a"]).tolist() == [list(table.of("c").weights), list(table.of("a").weights)]
    assert remap_rows(prior, RESPONSE, sf.losses.bin(["a", "b", "c"]), ["b", "a"]) == ["b", "a"]
    sets = credible_sets(prior, RESPONSE, "0.9")
    assert sets.of("a") == ("a", "b") and credible_sets(prior, RESPONSE, "0.8").of("a") == ("a",)
    assert credible_sets(prior, RESPONSE, 1).sizes.tolist() == [3, 3, 3]
    for wrong in (0, "1.1", -1):
        with pytest.raises(InvalidInput, match="level"):
            credible_sets(prior, RESPONSE, wrong)
    for asked in (lambda: table.of("d"), lambda: sets.of("d"),
                  lambda: remap_rows(prior, RESPONSE, sf.losses.bin(["a", "b", "c"]), ["d"])):  # fmt: skip
        with pytest.raises(Mismatch):
            asked()
    sure = posteriors(sf.Prior.point(["a", "b"], "a"), sf.Channel.identity(["a", "b"]))
    with pytest.raises(InvalidInput, match="probability 0"):
        sure.of("b")


def test_floats_and_level_one() -> None:
    space = sf.grid(5, 5)
    matrix = np.exp(-0.5 * space.distances.floats)
    channel = sf.Channel(space, matrix / matrix.sum(axis=1, keepdims=True), space.labels)
    sets = credible_sets(sf.Prior.uniform(channel.secrets).to_floats(), channel, 1)
    assert (sets.sizes <= 25).all() and (sets.sizes >= 20).all()
    assert len(credible_sets(sf.Prior.uniform(channel.secrets), channel, "1/2").of((2, 2))) < 13
