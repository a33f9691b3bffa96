"""KNOWN answers: mechanisms with a name, each with its promise and its proof."""

from sfumato.mechanisms.line import InfiniteGeometric, geometric, hamming_kernel
from sfumato.mechanisms.response import (
    binary,
    closest_pair,
    dual_random_response,
    membership,
    one_against_rest,
    random_response,
)

__all__ = [
    "InfiniteGeometric",
    "binary",
    "closest_pair",
    "dual_random_response",
    "geometric",
    "hamming_kernel",
    "membership",
    "one_against_rest",
    "random_response",
]
