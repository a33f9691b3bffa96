"""HOW it is disclosed: channels, priors, hypers and their composition."""

from sfumato.channels.channel import Channel, as_channel, check_secrets, normalise
from sfumato.channels.composition import cascade, choice, oblivious, parallel, remap, restrict
from sfumato.channels.hyper import Hyper, hyper, joint, output_distribution, posterior
from sfumato.channels.prior import Prior, as_prior, secrets_of

__all__ = [
    "Channel",
    "Hyper",
    "Prior",
    "as_channel",
    "as_prior",
    "cascade",
    "check_secrets",
    "choice",
    "hyper",
    "joint",
    "normalise",
    "oblivious",
    "output_distribution",
    "parallel",
    "posterior",
    "remap",
    "restrict",
    "secrets_of",
]
