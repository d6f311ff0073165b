"""Conclusions from the values that a program computed: where a NaN was born, and what is unhealthy about a network."""

from .births import ValueFlow, find_births
from .depth import Layer, list_layers
from .health import add_value_findings, find_problems
from .report_text import report_text

__all__ = [
    "Layer",
    "ValueFlow",
    "add_value_findings",
    "find_births",
    "find_problems",
    "list_layers",
    "report_text",
]
