"""What is drawn. Knows records only, never the engine, and boots nothing.

``Panel`` is the live widget; ``picture`` (SVG) and ``text`` answer the same from any list of records.
"""

from .panel import Panel
from .picture import picture
from .text import text

__all__ = ["Panel", "picture", "text"]
