from .audit import Audit as Audit
from .comparison import comparison_figure as comparison_figure
from .curve import curve_figure as curve_figure
from .hasse import hasse_figure as hasse_figure
from .page import Report as Report
from .page import report as report
from .priors import PriorMap as PriorMap
from .priors import entropy_surface as entropy_surface
from .priors import prior_map as prior_map
from .priors import prior_map_figure as prior_map_figure
from .shares import respondents_figure as respondents_figure
from .shares import shares_figure as shares_figure

__all__: list[str]
