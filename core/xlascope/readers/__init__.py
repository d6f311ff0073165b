"""Readers that turn XLA's output (HLO text, dumps, logs, buffer assignments, profiles) into records.

None of them starts a backend. XLA promises no stability of these formats. A reader raises
:class:`FormatError` for input of an unknown form and never returns less than the input holds.
"""

from ..names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
