"""Drawing of records. Depends on records only; the engine is neither imported nor initialized.

``Panel`` is the live widget; ``picture`` (SVG) and ``text`` show the same for any list of records.
"""

from .panel import Panel
from .picture import picture
from .text import text

__all__ = ["Panel", "picture", "text"]
