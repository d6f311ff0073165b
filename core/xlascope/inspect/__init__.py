"""From a call to what became of it: the same questions in a script as in a notebook.

``explore`` and ``jaxpr`` trace, ``fusions`` compiles too, ``timings`` also runs and measures. Each returns an
:class:`Inspection`, which holds records, prints as text, and turns into JSON.
"""

from .questions import explore, fusions, jaxpr, timings
from .result import Inspection, Renderer, register_renderer

__all__ = ["Inspection", "Renderer", "explore", "fusions", "jaxpr", "register_renderer", "timings"]
