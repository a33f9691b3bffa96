"""USING it: exact samples of proved mechanisms, on any table, and what the receiver makes of them.

Names are loaded when they are first used, since they bring readers of tables and files with them; ``__init__.pyi``
lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
