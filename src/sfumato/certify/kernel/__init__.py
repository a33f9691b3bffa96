"""The proof kernel: reads a mechanism file and decides, in integers, whether it keeps its promise.

It needs nothing but the Python standard library and trusts nothing but its own modules, of which
``certify/bundle.py`` makes one file, so that they can be read and run alone:

    python -I -S kernel.py mechanism.sfm

What is proved. The file holds a space of n secrets with a metric d, a promise (epsilon, or
alpha = e^-epsilon), and an n × m table N of non-negative integers. The kernel checks that

1. every row of N sums to the same total T, so that M(x)(y) = N[x][y] / T is a mechanism;
2. N[x][y] · q ≤ p · N[z][y] for every pair of secrets and every output, where p/q is a
   rational that the kernel itself has computed to be at most e^(epsilon·d(x, z));
3. a pair is left out only where its promise follows from others: the file names a point y
   between x and z with d(x, y) + d(y, z) ≤ d(x, z), which the kernel checks exactly, or the
   metric is by definition the shortest-path metric of a graph, of which all edges are checked;
   pairs that no chain of finite distances joins are counted, since nothing is promised about them;
4. where promises about events are listed: P(E | x) ≤ f·P(E | z) + delta for every event E;
5. if a loss is claimed: it is the loss of the mechanism with the remap in the file (expected under
   a prior, under the worst of several priors, or of the worst secret), and the limits are kept;
6. if a bound is claimed: no mechanism of these promises, keeping the limits, has a smaller loss,
   because the numbers Z ≥ 0 in the file prove it (weak duality, see ``check_bound``);
   or, where the claim is about shares of a population: unbiased estimates from N answers have at most
   this variance (``variance``), and no mechanism has less (``variance_bound``).

Or the promise is about all points of a box: N has a row for each point of a lattice, and a point x
is rounded to it at random, with B-splines B_v(x) as probabilities. Then the kernel checks 1 and that

7. on every cell the Bernstein coefficients of value and gradient of Σ_v B_v N[v][y] satisfy
   ‖gradient‖* ≤ rate · value in the dual norm, squares compared, for a rational rate ≤ epsilon;
8. a claimed expected distance is an upper bound (``check_box_loss``), and a claimed bound holds for
   all mechanisms on the box, with whatever outputs (``LoweredLosses``).

What a file may hold is bounded by what its secrets, outputs and actions can need, and numbers are
read where they lie: the kernel takes at most 64 MB, three times the unpacked sections, and what
Python's JSON reader makes of the header (up to 30 times its bytes); for a box also up to 1 kB for
each lattice point, cell, part of a piece or offset, and cube that it has, for a bound 100 kB for each action.

Exit status: 0 all that the file says is proved, 3 refuted, 2 the file cannot be read.
"""

from sfumato.certify.kernel.arithmetic import (
    divided,
    exp_bound,
    log_bound,
    over_one_grain,
    remembered,
    root,
    shifted,
    shortened,
)
from sfumato.certify.kernel.bounds import check_bound
from sfumato.certify.kernel.box_bounds import NORMS, LoweredLosses, check_box_bound, finite_problem
from sfumato.certify.kernel.box_header import BOX_CLAIM, METRES, MOST_ALONG, MOST_HALVINGS, MOST_PARTS
from sfumato.certify.kernel.box_losses import (
    ROOT,
    box_counts,
    box_loss,
    check_box_loss,
    claimed_loss,
    loss_axes,
    norms,
    rods,
)
from sfumato.certify.kernel.cone import Ruler, corners, square_free
from sfumato.certify.kernel.coordinates import steepness
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart, number_text
from sfumato.certify.kernel.fields import COORDINATES, KEYS, VERSION, rational
from sfumato.certify.kernel.format import (
    EFFORT,
    EFFORT_OF_A_BYTE,
    MAGIC,
    MOST_PLACES,
    WIDTHS,
    check_effort,
    contents,
    effort,
    expected_counts,
    parse,
    read,
)
from sfumato.certify.kernel.header import CLAIMS, CRITERIA, FORMS, PROMISES, interpret, interpret_claims
from sfumato.certify.kernel.losses import check_loss, expectation, mixed_prior, priors_of
from sfumato.certify.kernel.noise import blur, layer_value, layers_bound, noise_loss
from sfumato.certify.kernel.pairs import (
    LARGEST,
    NOWHERE,
    UNBOUNDED,
    check_events,
    check_sums,
    checked_edges,
    distance_reader,
    pairs_to_check,
    span,
    violation,
)
from sfumato.certify.kernel.promise import (
    FRAME_BITS,
    MANTISSA,
    PI,
    check_frame,
    cos_bound,
    exact_factor,
    exponent_bound,
    factor_above,
    factor_below,
    largest_stretch,
    map_promise,
    smallest_stretch,
)
from sfumato.certify.kernel.reports import report_of_proof
from sfumato.certify.kernel.sections import integers, unshuffle
from sfumato.certify.kernel.shares import check_corners, variance, variance_bound
from sfumato.certify.kernel.splines import column_of, gradients, lattice_forms, too_steep
from sfumato.certify.kernel.values import (
    AnyHeader,
    CoordinatesHeader,
    CoordinatesPromise,
    DistanceClaim,
    Event,
    Grid,
    Header,
    Lattice,
    LossClaim,
    Metric,
    Promise,
    SectionShape,
    VarianceClaim,
    WrittenBox,
    WrittenFrame,
    WrittenLimit,
    WrittenNoise,
    WrittenSpace,
    bound_of,
    distance_claim,
    loss_claim,
    noise_of,
    variance_claim,
)
from sfumato.certify.kernel.verifier import check, check_claims, main

__all__ = [
    "BOX_CLAIM",
    "CLAIMS",
    "COORDINATES",
    "CRITERIA",
    "EFFORT",
    "EFFORT_OF_A_BYTE",
    "FORMS",
    "FRAME_BITS",
    "KEYS",
    "LARGEST",
    "MAGIC",
    "MANTISSA",
    "METRES",
    "MOST_ALONG",
    "MOST_HALVINGS",
    "MOST_PARTS",
    "MOST_PLACES",
    "NORMS",
    "NOWHERE",
    "PI",
    "PROMISES",
    "ROOT",
    "UNBOUNDED",
    "VERSION",
    "WIDTHS",
    "AnyHeader",
    "CoordinatesHeader",
    "CoordinatesPromise",
    "DistanceClaim",
    "Event",
    "Grid",
    "Header",
    "Lattice",
    "LossClaim",
    "LoweredLosses",
    "Metric",
    "Promise",
    "Refuted",
    "Ruler",
    "SectionShape",
    "Unreadable",
    "VarianceClaim",
    "WrittenBox",
    "WrittenFrame",
    "WrittenLimit",
    "WrittenNoise",
    "WrittenSpace",
    "apart",
    "blur",
    "bound_of",
    "box_counts",
    "box_loss",
    "check",
    "check_bound",
    "check_box_bound",
    "check_box_loss",
    "check_claims",
    "check_corners",
    "check_effort",
    "check_events",
    "check_frame",
    "check_loss",
    "check_sums",
    "checked_edges",
    "claimed_loss",
    "column_of",
    "contents",
    "corners",
    "cos_bound",
    "distance_claim",
    "distance_reader",
    "divided",
    "effort",
    "exact_factor",
    "exp_bound",
    "expectation",
    "expected_counts",
    "exponent_bound",
    "factor_above",
    "factor_below",
    "finite_problem",
    "gradients",
    "integers",
    "interpret",
    "interpret_claims",
    "largest_stretch",
    "lattice_forms",
    "layer_value",
    "layers_bound",
    "log_bound",
    "loss_axes",
    "loss_claim",
    "main",
    "map_promise",
    "mixed_prior",
    "noise_loss",
    "noise_of",
    "norms",
    "number_text",
    "over_one_grain",
    "pairs_to_check",
    "parse",
    "priors_of",
    "rational",
    "read",
    "remembered",
    "report_of_proof",
    "rods",
    "root",
    "shifted",
    "shortened",
    "smallest_stretch",
    "span",
    "square_free",
    "steepness",
    "too_steep",
    "unshuffle",
    "variance",
    "variance_bound",
    "variance_claim",
    "violation",
]
