"""KNOWN answers: mechanisms with a name, each with its promise and its proof."""

from sfumato.mechanisms import continuous, response, tight
from sfumato.mechanisms.box_noise import laplace_noise, noise_on_box, noise_table
from sfumato.mechanisms.exponential import exponential, true_epsilon
from sfumato.mechanisms.lattice import Lattice, LatticeSolution
from sfumato.mechanisms.line import InfiniteGeometric, geometric, hamming_kernel
from sfumato.mechanisms.local import hadamard_response, subset_selection, unary_encoding
from sfumato.mechanisms.planar import planar_geometric, planar_laplace
from sfumato.mechanisms.product import ProductMechanism, product_mechanism
from sfumato.mechanisms.ranges import truncated_geometric
from sfumato.mechanisms.registry import MECHANISMS, KnownMechanism, pixelated_laplace
from sfumato.mechanisms.response import *
from sfumato.mechanisms.selection import permute_and_flip
from sfumato.mechanisms.smoothing import smooth
from sfumato.mechanisms.staircase import Staircase, staircase, stretched_geometric
from sfumato.mechanisms.tight import *

__all__ = [
    "MECHANISMS",
    "InfiniteGeometric",
    "KnownMechanism",
    "Lattice",
    "LatticeSolution",
    "ProductMechanism",
    "Staircase",
    "continuous",
    "exponential",
    "geometric",
    "hadamard_response",
    "hamming_kernel",
    "laplace_noise",
    "noise_on_box",
    "noise_table",
    "permute_and_flip",
    "pixelated_laplace",
    "planar_geometric",
    "planar_laplace",
    "product_mechanism",
    "smooth",
    "staircase",
    "stretched_geometric",
    "subset_selection",
    "true_epsilon",
    "truncated_geometric",
    "unary_encoding",
]
__all__ += response.__all__ + tight.__all__
