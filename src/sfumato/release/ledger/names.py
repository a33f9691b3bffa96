"""Names in a ledger that are told apart by no reader: ``people``, ``People`` and ``people`` with a blank after it.

Under a new name nothing is spent, so that a slip of the hand would begin a second account of the same people. A name
that looks like one that is there, and is another one, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import category, normalize

from sfumato.errors import InvalidInput, shown

_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")  # the categories of letters that leave no ink, or none of their own
_BETWEEN = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")  # blanks and dashes, which are written one for another
_LATIN = str.maketrans("авекмнорстухіјѕһԁԛԝӏαβεζηικμνορτυχ", "abekmhopctyxijshdqwlabezhikmvoptux")


def looks(name: str) -> str:
    r"""What a reader makes of a name: capitals, blanks, dashes, what is invisible and Greek or Cyrillic letters that
    are drawn like Latin ones tell no names apart.

    Examples
    --------
    >>> looks("People_2026 ") == looks("people 2026") == looks("people\u200b-2026"), looks("people 2025")
    (True, 'people 2025')
    """
    plain = normalize("NFKC", normalize("NFKC", name).casefold())
    inked = "".join(" " if category(letter).startswith("Z") or letter in "\t\r\n" else letter for letter in plain)
    drawn = "".join(letter for letter in inked if letter == " " or category(letter) not in _INVISIBLE)
    return _BETWEEN.sub(" ", drawn.translate(_LATIN)).strip() or plain


def refuse_alike(name: str, known: Iterable[str], what: str) -> None:
    """Raise for a name that looks like one of those that are known, and is none of them."""
    names = list(known)
    if name in names:
        return
    mine = looks(name)
    alike = next((other for other in names if looks(other) == mine), None)
    if alike is not None:
        raise InvalidInput(
            f"the {what} {shown(name)} looks like {shown(alike)}, which the ledger has, and is another name, of which "
            f"nothing would be spent: say {shown(alike)} if that is meant, or take a name that nobody takes for it"
        )
