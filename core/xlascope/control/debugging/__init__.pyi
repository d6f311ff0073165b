from . import faults as faults
from . import reuse as reuse
