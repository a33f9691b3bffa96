"""What repeats a release exactly: the spec names the mechanism that it was drawn from, which stands beside it.

A question has one answer where the search comes to its end. Where the time is up first, or somebody asks for what there
is, the answer depends on the machine and the moment. So a spec that ``hide`` writes holds two digests: of the question
as it stands there, and of the mechanism. Who releases by the spec draws from that mechanism where its file, of the name
of the spec, is still there and the question is still the same; it is proved again first. Otherwise the question is
answered anew.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.certify.verify import load
from sfumato.design.result import BoxDesign, Design
from sfumato.errors import InvalidFile
from sfumato.hide.choice import Chosen
from sfumato.specs.spec import Spec, file_digests, to_toml
from sfumato.watch import Watch

_DIGITS = 32  # of a digest of the question: nobody gains by a second one


def question_digest(spec: Spec) -> str:
    """A digest of the question that a spec asks, with the contents of the files that it names."""
    plain = spec
    if spec.release is not None:
        said = {name: getattr(spec.release, name) for name in spec.release.model_fields_set}
        kept = {name: value for name, value in said.items() if name not in ("mechanism", "question")}
        plain = spec.model_copy(update={"release": type(spec.release)(**kept)})
    text = to_toml(plain, renamed=file_digests(spec))
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def naming(spec: Spec, mechanism: Any) -> Spec:
    """The same spec with the digest of the mechanism that answers it."""
    assert spec.release is not None
    digests = {"mechanism": mechanism.proof.digest, "question": question_digest(spec)}
    return spec.model_copy(update={"release": spec.release.model_copy(update=digests)})


def mechanism_file(spec: Spec) -> Path | None:
    """The file of the mechanism that a spec names, where it is there."""
    if spec.release is None or spec.release.mechanism is None:
        return None
    file = spec.path(Path(spec.source).with_suffix(".sfm").name)
    return file if file.is_file() else None


def answered(spec: Spec, watch: Watch) -> Chosen | None:
    """The mechanism that a spec names, proved again; None where its file is gone, or the question is another one."""
    file = mechanism_file(spec)
    if file is None or spec.release is None or spec.release.question != question_digest(spec):
        return None
    mechanism: Any = load(file)
    if mechanism.proof.digest != spec.release.mechanism:
        raise InvalidFile(
            f"{file} is not the mechanism that {spec.source} names: move it away, and the question is answered anew"
        )
    kind: Any = BoxDesign if mechanism.about == "coordinates" else Design
    proof = mechanism.proof
    design = kind(mechanism, proof.loss, proof.bound or 0 * proof.loss, "as before", 0, {"total": watch.spent})
    return Chosen(design, f"that of {file.name}, which the spec names, proved again")
