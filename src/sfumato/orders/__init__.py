"""WHICH tells more: refinement (the sufficiency order), weaker orders, how far from it, transport between hypers."""

from sfumato.orders import distance, maximal, multiplicative, refinement, transport, weaker
from sfumato.orders.distance import *
from sfumato.orders.maximal import *
from sfumato.orders.multiplicative import *
from sfumato.orders.refinement import *
from sfumato.orders.transport import *
from sfumato.orders.weaker import *

__all__ = []
__all__ += distance.__all__ + maximal.__all__ + multiplicative.__all__ + refinement.__all__
__all__ += transport.__all__ + weaker.__all__
