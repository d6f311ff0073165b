"""The doctor: a table of rules, each of which looks for one performance problem in a program's records."""

from .eager import find_fetches_of_cell
from .evidence import Copied, Evidence, Narrowed
from .rule import Rule
from .table import MAX_FINDINGS, RULES, diagnose, diagnosis_text

__all__ = [
    "MAX_FINDINGS",
    "RULES",
    "Copied",
    "Evidence",
    "Narrowed",
    "Rule",
    "diagnose",
    "diagnosis_text",
    "find_fetches_of_cell",
]
