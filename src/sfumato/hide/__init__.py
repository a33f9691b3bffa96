"""HIDING points: ``sf.hide(trips, "500 m", box=…)`` designs, proves and releases, and says what was told of them.

The room itself is called like its function :func:`sfumato.hide.hiding.hide`, see :class:`sfumato.rooms.CallableRoom`.
Names are loaded when they are first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

from sfumato.rooms import callable_room

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
callable_room(__name__)
