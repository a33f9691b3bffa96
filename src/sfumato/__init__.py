"""Design, prove and apply mechanisms for metric differential privacy."""

from sfumato.version import __version__ as __version__
