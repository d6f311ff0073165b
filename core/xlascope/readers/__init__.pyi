from . import hlo as hlo
from . import memory as memory
from .format_error import KNOWN as KNOWN
from .format_error import FormatError as FormatError
