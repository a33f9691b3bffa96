"""HOW it is disclosed: channels, priors, hypers and their composition."""

from sfumato.channels import channel, composition, prior
from sfumato.channels.channel import *
from sfumato.channels.composition import *
from sfumato.channels.hyper import Hyper, hyper, joint, output_distribution, posterior
from sfumato.channels.prior import *

__all__ = ["Hyper", "hyper", "joint", "output_distribution", "posterior"]
__all__ += channel.__all__ + composition.__all__ + prior.__all__
