"""The public names, the one list of them."""

from .minimization import OptimizeResults as OptimizeResults
from .minimization import minimize as minimize
