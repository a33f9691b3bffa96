"""SEEING it: ``sf.report(design, "page.html")`` writes what a mechanism promises, costs and tells as one offline page.

Beside it figures in one style and audits of matrices from other tools. Names are loaded when they are first used, since
they bring a drawing library with them; ``__init__.pyi`` lists them. The room itself is called like its function
:func:`sfumato.report.page.report`, see :class:`sfumato.rooms.CallableRoom`.
"""

import lazy_loader

from sfumato.rooms import callable_room

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
callable_room(__name__)
