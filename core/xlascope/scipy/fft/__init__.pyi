"""The public names, the one list of them."""

from .cosine_transforms import dct as dct
from .cosine_transforms import dctn as dctn
from .cosine_transforms import idct as idct
from .cosine_transforms import idctn as idctn
