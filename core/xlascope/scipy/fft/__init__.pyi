"""The public names, the one list of them."""

from .cosines import dct as dct
from .cosines import dctn as dctn
from .cosines import idct as idct
from .cosines import idctn as idctn
