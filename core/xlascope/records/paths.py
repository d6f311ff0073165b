"""The identity of an equation inside XLA: its path, read back from the ``op_name`` that XLA carries along.

The lowering names the operations of equation 4 in a body ``e4/dot_general``, relative to the body, and a call of that
body ``jit(update)/e12/jit(loss)``. When XLA inlines the call, at every call site, it puts the call's name in front:
``jit(update)/e12/jit(loss)/e4/dot_general``. It leaves that out where the name begins with the call's already,
so what stands for the callee (``jit(loss)``) is a name that no other function of the module has.
"""

from __future__ import annotations

import re

_INDEX = re.compile(r"e(\d+)")


def equation_path(name: str) -> str | None:
    """The path of the equation that an ``op_name`` belongs to; None when it names none.

    >>> equation_path("jit(update)/e12/jit(loss)/e4/dot_general")
    '12/4'
    >>> equation_path("jit(update)/copy") is None
    True
    """
    found = (_INDEX.fullmatch(segment) for segment in name.split("/"))
    return "/".join(match[1] for match in found if match) or None
