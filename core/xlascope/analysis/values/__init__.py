"""Conclusions from the values that a program computed: where a NaN was born, and what is unhealthy about a network."""

from .births import ValueFlow, find_births
from .depth import Layer, list_layers
from .health import add_value_findings, find_problems
from .history_text import bad_words, cost_words, history_text
from .report_text import report_text

__all__ = [
    "Layer",
    "ValueFlow",
    "add_value_findings",
    "bad_words",
    "cost_words",
    "find_births",
    "find_problems",
    "history_text",
    "list_layers",
    "report_text",
]
