"""The public names, the one list of them."""

from .krylov import bicgstab as bicgstab
from .krylov import cg as cg
from .minimal_residuals import gmres as gmres
