"""What the report says about a mechanism for places."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import sfumato as sf
from box_tables import box_mechanism
from sfumato.certify.coordinates import BoxBound, BoxClaim, prove_on_box
from sfumato.certify.mechanism import Dual
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.report.page import report
from sfumato.spaces import earth_box


def test_a_report_says_what_lengths_are_on_the_ground(tmp_path: Path) -> None:
    town = earth_box(48, 2, sides=(20, 20), step=10)
    table = box_mechanism(town, outputs=4)
    proved = prove_on_box(table.weights, table.privacy, table.rounding, table.outputs, halvings=0)
    none = np.zeros(0, dtype=np.int64)
    bound = BoxBound(Fraction(5), (1, 1), b"", Dual(none, none, none, none))
    claim = BoxClaim(sf.Prior.uniform(town), CoordinateLoss(town), Fraction(10), 4, bound)
    told = replace(proved, claim=claim, proof=replace(proved.proof, loss=claim.value, bound=bound.value))
    text = report(told, tmp_path / "report.html").page.read_text().replace("\xa0", " ")
    assert "distance on the ground, along a great circle," in text
    assert "Places up to 5 km outside of the box count as its nearest point" in text
    assert "Places farther out are refused, since nothing is promised about them." in text
    assert "distances on the map are 0.995" in text and "a sphere of radius 6371.0088 km" in text
    assert "So the mean distance that is proved here is one of 10 to 10.044 on the ground." in text
