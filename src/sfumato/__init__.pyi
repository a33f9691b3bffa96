import collections.abc as _abc
import types as _types
import typing as _t

import sfumato.design.optimal as _optimal
import sfumato.hide.hiding as _hiding
import sfumato.report.page as _page

from . import certify as certify
from . import channels as channels
from . import draws as draws
from . import errors as errors
from . import losses as losses
from . import measures as measures
from . import mechanisms as mechanisms
from . import orders as orders
from . import papers as papers
from . import privacy as privacy
from . import release as release
from . import spaces as spaces
from .certify import Mechanism as Mechanism
from .certify import load as load
from .certify import prove as prove
from .certify import quantise as quantise
from .certify import repair as repair
from .certify import save as save
from .certify import verify as verify
from .channels import Channel as Channel
from .channels import Hyper as Hyper
from .channels import Prior as Prior
from .channels import cascade as cascade
from .channels import hyper as hyper
from .channels import parallel as parallel
from .channels import posterior as posterior
from .channels import remap as remap
from .design import Design as Design
from .design import calibrate as calibrate
from .design import compare_known as compare_known
from .design import curve as curve
from .design import objectives as objectives
from .losses import Gain as Gain
from .losses import Loss as Loss
from .measures import bayes_vulnerability as bayes_vulnerability
from .measures import capacity as capacity
from .measures import expected_loss as expected_loss
from .measures import leakage as leakage
from .measures import optimal_remap as optimal_remap
from .measures import posterior_loss as posterior_loss
from .measures import prior_loss as prior_loss
from .mechanisms import continuous as continuous
from .mechanisms import exponential as exponential
from .mechanisms import geometric as geometric
from .mechanisms import planar_laplace as planar_laplace
from .mechanisms import random_response as random_response
from .mechanisms import smooth as smooth
from .mechanisms import tight_constraints as tight_constraints
from .orders import refines as refines
from .privacy import PrivacyType as PrivacyType
from .privacy import predicates as predicates
from .privacy import satisfies as satisfies
from .privacy import smallest_epsilon as smallest_epsilon
from .privacy import tightest_pair as tightest_pair
from .privacy import types as types
from .release.estimation.estimates import frequencies as frequencies
from .release.ledger.ledger import Ledger as Ledger
from .release.sampler import sampler as sampler
from .release.streams import release_file as release_file
from .release.tables import release_table as release_table
from .report.audit import audit as audit
from .report.simplex import simplex as simplex
from .spaces import FiniteSpace as FiniteSpace
from .spaces import box as box
from .spaces import count_query as count_query
from .spaces import cycle as cycle
from .spaces import discrete as discrete
from .spaces import elastic as elastic
from .spaces import geo as geo
from .spaces import graph as graph
from .spaces import grid as grid
from .spaces import hamming as hamming
from .spaces import line as line
from .spaces import points as points
from .spaces import query as query
from .spaces import sum_query as sum_query
from .theory import compatibility as compatibility
from .theory import universal as universal
from .verdict import Outcome as Outcome
from .verdict import Verdict as Verdict

_P = _t.ParamSpec("_P")
_R = _t.TypeVar("_R")

class _CallableRoom(_types.ModuleType, _t.Generic[_P, _R]):
    """For type checkers: a room that is called like a function (:class:`sfumato.rooms.CallableRoom`)."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

def _called_like(function: _abc.Callable[_P, _R]) -> _CallableRoom[_P, _R]: ...

if _t.TYPE_CHECKING:
    design = _called_like(_optimal.design)
    hide = _called_like(_hiding.hide)
    report = _called_like(_page.report)
else:
    from . import design as design
    from . import hide as hide
    from . import report as report

__version__: str
__all__: list[str]
