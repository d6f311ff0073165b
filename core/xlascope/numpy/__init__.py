"""xlascope.numpy"""
from . import methods
from .creation import *
from .ufuncs import *
from .reductions import *
from .shaping import *
from .linear import *
from .take import *
