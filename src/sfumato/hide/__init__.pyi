from .hidden import Hidden as Hidden
from .hiding import hide as hide
from .wish import Wish as Wish

__all__: list[str]
