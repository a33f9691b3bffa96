"""Design, prove and apply mechanisms for metric differential privacy.

Names are loaded when they are first used, so that asking for the version or for help does
not wait for compilers and solvers. ``__init__.pyi`` lists them.
"""

import lazy_loader

from sfumato import verbs as _verbs
from sfumato.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_verbs.lend(__getattr__)
