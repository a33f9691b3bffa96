"""What the other rooms say in the words of Python, in the words of the command line; and one thing is not "things"."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["counted", "in_shell_words"]

_PHRASES = (
    (re.compile(r"on_unknown='(\w+)'"), r"--on-unknown \1"),
    (re.compile(r"\bmost_moved=(\S*)"), r"--most-moved \1"),
    (re.compile(r"\bmost_moved\b"), "--most-moved"),
    (re.compile(r"set_limit\(\)"), "`sfumato ledger limit`"),
    (re.compile(r"\bsecret_never_changes=True"), "--secret-never-changes"),
    (re.compile(r"\bkey= and row_id="), "--key-file and --row-id"),
    (re.compile(r"\bledger= and dataset="), "--ledger and --dataset"),
    (re.compile(r"\bdataset= and times="), "--dataset and --times"),
    (re.compile(r"\bgive ledger= too"), "give --ledger too"),
    (re.compile(r"\bsay dataset='…'"), "say --dataset …"),
    (re.compile(r"; sfumato\.channels\.normalise\(\) divides.*makes them private"), ""),
    (re.compile(r"\brepair\(\) or quantise\(\)"), "`sfumato audit --repair`"),
    (re.compile(r"\b(?:sfumato\.)?repair\(\)"), "`sfumato audit --repair`"),
    (re.compile(r"\bsay which one the repaired"), "say with --epsilon which one the repaired"),
    (re.compile(r"\bsay at which to prove it"), "say with --epsilon at which to prove it"),
    (re.compile(r"\bsay at which epsilon that is asked"), "say with --epsilon at which one that is asked"),
    (re.compile(r"names of outputs unasked"), "names of outputs without --header"),
    (re.compile(r"names of secrets unasked"), "names of secrets without --names"),
    (re.compile(r"; design\(\) finds it"), "; --optimum looks for it all the same"),
    (re.compile(r",:"), ":"),
    (re.compile(r"(?<![\w.,/])1 (secret|pair|output|row|column|cell|event)s\b"), r"1 \1"),
)
_FRACTION = re.compile(r"\bFraction\((-?\d+), (\d+)\)")


def in_shell_words(text: str) -> str:
    """A message with options for keywords and commands for functions.

    Examples
    --------
    >>> in_shell_words("'age' is missing; fill it, or on_unknown='drop' leaves such rows out")
    "'age' is missing; fill it, or --on-unknown drop leaves such rows out"
    >>> in_shell_words("must be positive, found Fraction(0, 1); all 1 pairs")
    'must be positive, found 0; all 1 pair'
    """
    for pattern, words in _PHRASES:
        text = pattern.sub(words, text)
    return _FRACTION.sub(lambda found: str(Fraction(int(found[1]), int(found[2]))) if int(found[2]) else found[0], text)


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "secret"), counted(3, "vertex", "vertices")
    ('1 secret', '3 vertices')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
