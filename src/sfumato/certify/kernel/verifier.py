"""Decides: a file is read, all that it says is checked, and what is proved is said."""

import sys

from sfumato.certify.kernel.bounds import check_bound
from sfumato.certify.kernel.coordinates import check_coordinates
from sfumato.certify.kernel.errors import Refuted, Unreadable
from sfumato.certify.kernel.format import read
from sfumato.certify.kernel.losses import check_loss
from sfumato.certify.kernel.noise import check_noise
from sfumato.certify.kernel.pairs import check_events, check_pairs, check_sums
from sfumato.certify.kernel.reports import report_of_proof
from sfumato.certify.kernel.sections import Sections
from sfumato.certify.kernel.shares import check_shares
from sfumato.certify.kernel.values import AnyHeader, CoordinatesHeader, Header, Proved, VarianceClaim


def check(header: AnyHeader, sections: Sections) -> Proved:
    """Check everything the file claims. Returns what was proved as a dictionary; raises Refuted."""
    if isinstance(header, CoordinatesHeader):
        return check_coordinates(header, sections) if header.noise is None else check_noise(header, sections)
    proved: Proved = {"secrets": len(header.secrets), "outputs": len(header.outputs), "total": header.total}
    check_sums(header, sections)
    proved |= check_pairs(header, sections)
    if header.events:
        proved["events"] = check_events(header, sections)
    return proved | check_claims(header, sections)


def check_claims(header: Header, sections: Sections) -> Proved:
    """What is claimed beside the promise: a loss or a variance, and that no mechanism has less."""
    if header.claims is None:
        return {}
    if isinstance(header.claims, VarianceClaim):
        return check_shares(header, sections)
    proved = {"loss": check_loss(header, sections)}
    if header.claims.bound is not None:
        proved["bound"] = check_bound(header, sections)
    return proved


def main(arguments: list[str]) -> int:
    """Check the files named on the command line and say what was proved."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter shows its number
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -I -S kernel.py mechanism.sfm [...]", file=sys.stderr)
        return 2
    worst = 0
    for path in arguments:
        name = path if path.isprintable() else ascii(path)  # no name writes a line of the report
        try:
            header, sections, digest = read(path)
            print(f"{name}: " + "\n".join(report_of_proof(header, check(header, sections), digest)))
        except Unreadable as error:
            print(f"{name}: cannot be read: {error}")
            worst = max(worst, 2)
        except Refuted as error:
            print(f"{name}: REFUTED: {error}")
            worst = 3
    return worst
