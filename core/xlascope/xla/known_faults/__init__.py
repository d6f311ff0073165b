"""Known faults of XLA's CPU compiler, and their workarounds.

``fault_table`` has one row for each fault. A row is matched against the operations of a program
(``program_operations``), which are read from a jaxpr or from StableHLO. Only a program that matches pays for the
workaround: compiler options of that program (``workarounds``), or another form of an operation
(``nan_propagation``).
"""

from .fault_table import FAULTS, CompilerFault, faults_in, match_faults
from .workarounds import workaround_options

__all__ = ["FAULTS", "CompilerFault", "faults_in", "match_faults", "workaround_options"]
