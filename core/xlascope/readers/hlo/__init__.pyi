from .kernels import kernels_of as kernels_of
from .kernels import read_kernels as read_kernels
from .provenance import data_of as data_of
from .provenance import provenance_of as provenance_of
from .text import Module as Module
from .text import read_module as read_module
