"""The public names, the one list of them."""

from .generalized_minimal_residual import gmres as gmres
from .krylov import bicgstab as bicgstab
from .krylov import cg as cg
