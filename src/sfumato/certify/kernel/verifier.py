"""Decides: a file is read, all that it says is checked, and what is proved is said."""

import sys

from sfumato.certify.kernel.bounds import check_bound
from sfumato.certify.kernel.coordinates import check_coordinates
from sfumato.certify.kernel.errors import Refuted, Unreadable
from sfumato.certify.kernel.fields import COORDINATES
from sfumato.certify.kernel.format import read
from sfumato.certify.kernel.losses import check_loss
from sfumato.certify.kernel.noise import check_noise
from sfumato.certify.kernel.pairs import check_events, check_pairs, check_sums
from sfumato.certify.kernel.reports import report
from sfumato.certify.kernel.sections import Sections, Terms
from sfumato.certify.kernel.shares import check_shares


def check(header: Terms, sections: Sections) -> Terms:
    """Check everything the file claims. Returns what was proved as a dictionary; raises Refuted."""
    if "noise" in header:
        return check_noise(header, sections)
    if header["promise"]["kind"] == COORDINATES:
        return check_coordinates(header, sections)
    proved = {"secrets": len(header["secrets"]), "outputs": len(header["outputs"]), "total": header["total"]}
    check_sums(header, sections)
    proved |= check_pairs(header, sections)
    if header["events"]:
        proved["events"] = check_events(header, sections)
    return proved | check_claims(header, sections)


def check_claims(header: Terms, sections: Sections) -> Terms:
    """What is claimed beside the promise: a loss or a variance, and that no mechanism has less."""
    claims, proved = header["claims"], {}
    if claims.get("kind") == "shares":
        return check_shares(header, sections)
    if claims:
        proved["loss"] = check_loss(header, sections)
    if "bound" in claims:
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
            print(f"{name}: " + "\n".join(report(header, check(header, sections), digest)))
        except Unreadable as error:
            print(f"{name}: cannot be read: {error}")
            worst = max(worst, 2)
        except Refuted as error:
            print(f"{name}: REFUTED: {error}")
            worst = 3
    return worst
