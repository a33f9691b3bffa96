"""WHY believe it: the proof kernel, certificates and their files, repair and integer quantisation."""

from sfumato.certify.file import save
from sfumato.certify.mechanism import Claim, Dual, Mechanism, Proof
from sfumato.certify.repair import DEFAULT_BITS, Repair, quantise, repair
from sfumato.certify.verify import claim, load, prove, verify

__all__ = [
    "DEFAULT_BITS",
    "Claim",
    "Dual",
    "Mechanism",
    "Proof",
    "Repair",
    "claim",
    "load",
    "prove",
    "quantise",
    "repair",
    "save",
    "verify",
]
