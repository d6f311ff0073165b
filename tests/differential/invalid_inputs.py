"""Arguments that no parameter, or hardly any, can use."""

from __future__ import annotations

import math

from .draws import Draw
from .indices import cut
from .language import Described, array, tuple_of


def _odd_arrays() -> tuple[Described, ...]:
    three = [1, 2, 3]
    return (
        array("float32", (2, 2), [1, 2, 3, 4]),
        array("float32", (2, 3, 2), range(12)),
        *(array("float32", (3,), three, holder) for holder in ("masked", "object", "jax_array", "shape_dtype")),
        *(array(dtype, (), [1], holder) for dtype in ("float32", "int32") for holder in ("device", "numpy")),
        array("int32", (3,), three, "big"),
        array("complex64", (2,), [[1, 1], [2, 0]]),
        array("int4", (2,), [1, 2]),
        array("bool", (3,), [True, False, True]),
        array("U3", (2,), ["a", "b"], "numpy"),
    )


_WILD: tuple[Described, ...] = (
    *(
        None,
        True,
        "text",
        "",
        "float32",
        "int7",
        {"bytes": "ab"},
        {"object": None},
        {"ellipsis": None},
        cut(None, None),
    ),
    *(-1, -3, 99, 2**31, 2**62, -(2**40), 2**70, 1.5, math.nan, {"complex": [0.0, 1.0]}),
    *([], [1, [2, 3]], ["a", "b"], [None], {"tuple": []}, {"dict": []}, {"set": [1, 2]}, {"range": [3]}),
    *(tuple_of([0, 0]), tuple_of([5, 7]), tuple_of([-1, -1])),
    *({"type": "float"}, {"type": "str"}, {"dtype": "float32"}, {"function": "square"}),
    {"key": {"seed": 0, "typed": True}},
    *_odd_arrays(),
)


def wild(draw: Draw) -> Described:
    """What no parameter, or hardly any, can use."""
    return draw.pick(_WILD)
