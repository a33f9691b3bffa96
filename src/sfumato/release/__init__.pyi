from .accounting import privacy_loss as privacy_loss
from .accounting import worst_privacy_loss as worst_privacy_loss
from .estimation import CredibleSets as CredibleSets
from .estimation import Frequencies as Frequencies
from .estimation import Posteriors as Posteriors
from .estimation import credible_sets as credible_sets
from .estimation import frequencies as frequencies
from .estimation import nearest_prior as nearest_prior
from .estimation import output_counts as output_counts
from .estimation import posteriors as posteriors
from .estimation import remap_rows as remap_rows
from .estimation_likelihood import Likeliest as Likeliest
from .estimation_likelihood import iterative_bayesian_update as iterative_bayesian_update
from .estimation_likelihood import maximum_likelihood as maximum_likelihood
from .keys import release_key as release_key
from .ledger import Ledger as Ledger
from .opendp import opendp_measurement as opendp_measurement
from .opendp import opendp_rows as opendp_rows
from .places import Place as Place
from .places import Position as Position
from .sampler import Sampler as Sampler
from .sampler import integer_noise as integer_noise
from .streams import Released as Released
from .streams import release_file as release_file

__all__: list[str]
