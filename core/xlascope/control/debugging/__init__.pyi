from . import faults as faults
