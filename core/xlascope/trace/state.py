"""Thread-local state of tracing: the current trace, the origin of new equations, the named axes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

from ..ir.jaxpr import Origin

#: Named axes and their sizes, innermost last. A name that is bound again hides the one outside.
NamedAxes = tuple[tuple[Hashable, int], ...]


class _TraceState(threading.local):
    #: Switched by hand: assigned inside of a ``try`` whose ``finally`` puts back what was there. A context manager in
    #: Python would lose to an interrupt: one may be raised where its ``__exit__`` begins, before it has put anything
    #: back (tests/core/robustness/test_injection.py).
    """State of tracing on this thread: the current trace, the origin of new equations, and the named axes in scope."""

    trace: Any = None
    origin: Origin | None = None
    #: The named axes in scope.
    axes: NamedAxes = ()
    #: Those of them that a shard_map with ``check_vma`` binds: types say which values vary along them.
    checked_axes: frozenset[Hashable] = frozenset()
    #: The trace with a named axis that is applying the rule of a composite operation; see ``transforms/batch.py``.
    batch: Any = None


STATE = _TraceState()
