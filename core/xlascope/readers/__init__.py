"""From what XLA writes (HLO text, dumps and logs, plans of memory, profiles) to records. Boots nothing.

XLA promises nothing of these forms. What is not in the form that a reader knows is a :class:`FormatError`, and never
less than was there.
"""

from ..names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
