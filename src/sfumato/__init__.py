"""Design, prove and apply mechanisms for metric differential privacy.

A mechanism M is d-private when M(x)(y) ≤ e^{ε·d(x,x′)} · M(x′)(y) for all secrets x, x′ and outputs y: the closer two
secrets, the harder to tell them apart. That covers ordinary differential privacy, local privacy and location privacy.

    >>> import sfumato as sf
    >>> space = sf.line(3)                                  # answers 0, 1, 2 of a counting query
    >>> privacy = sf.PrivacyType(space, alpha="1/2")        # a factor 2 for each unit of distance
    >>> prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    >>> best = sf.design(prior, loss, privacy)              # nothing in the type does better
    >>> best.loss, best.bound
    (Fraction(5, 9), Fraction(5, 9))
    >>> print(sf.verify(best.mechanism))                    # proved again, in integers
    holds: ...

Say where secrets live
    line, grid, discrete, hamming, cycle, graph, points, geo, count_query, sum_query, query: each a FiniteSpace; elastic
    stretches one. box for coordinates, with a promise about all points. More in ``sf.spaces``.
Say what is promised, likely and at stake
    PrivacyType; Prior; Loss and Gain, made by ``sf.losses``; promises about events in ``sf.predicates``.
Design
    design gives a Design with its proved bound; calibrate finds the ε that reaches a loss, curve draws loss against ε.
    Other aims: ``sf.objectives``. Best for every prior: ``sf.universal``. What no ε can serve: ``sf.compatibility``.
Take a known mechanism
    geometric, random_response, exponential, planar_laplace, tight_constraints, and compare_known for all of them beside
    each other; smooth makes a table a mechanism for coordinates. More in ``sf.mechanisms`` and, for secrets in an
    interval, ``sf.continuous``.
Prove and keep
    prove makes a Mechanism of integers, repair and quantise make one of any matrix; verify, save, load.
    More in ``sf.certify``.
Ask
    satisfies, smallest_epsilon, tightest_pair, refines answer with a Verdict (its Outcome, reason and
    witness) or a number; how a privacy type is made up
    (vertices, kernels, capacities) is in ``sf.types``, other questions in ``sf.privacy`` and ``sf.orders``.
Measure
    expected_loss, prior_loss, posterior_loss, optimal_remap, bayes_vulnerability, leakage, capacity; entropies and
    utility measures in ``sf.measures``. A Channel with its Hyper: hyper, posterior, cascade, parallel, remap; more in
    ``sf.channels``.
Release and report
    hide takes a table or a file of points and gives it back released, with its design and report. release_table,
    release_file, sampler and a Ledger of what was spent; frequencies of what was released; keys, estimates and bridges
    in ``sf.release``. report writes a page, audit judges a matrix of another tool, simplex draws;
    figures in ``sf.report``, the tables of five papers in ``sf.papers``.

Errors are those of ``sf.errors``. ``help(sf.line)`` explains one name, ``help(sf.losses)`` a room; the command
``sfumato`` does the same from a shell. Guides, theory and a gallery are in ``docs/``.
"""
# Names are loaded when they are first used, so that asking for the version or for help does not wait for compilers and
# solvers; ``__init__.pyi`` lists them.

import sys
from typing import Any

import lazy_loader

from sfumato.rooms import open_front_door
from sfumato.version import __version__ as __version__

_front_door, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        # pydoc prints in full whatever ``__all__`` names, which are thousands of lines: each name has its own help
        if sys._getframe(1).f_code.co_name == "docmodule":
            raise AttributeError(name)
        return _names.copy()
    return _front_door(name)


open_front_door(__getattr__)
