"""WHICH tells more: refinement (the sufficiency order) and transport between hypers."""

from sfumato.orders import maximal, refinement, transport
from sfumato.orders.maximal import *
from sfumato.orders.refinement import *
from sfumato.orders.transport import *

__all__ = []
__all__ += maximal.__all__ + refinement.__all__ + transport.__all__
