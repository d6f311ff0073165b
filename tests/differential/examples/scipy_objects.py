"""Calls of SciPy's objects: rotations and ways between them, grids, estimated densities."""

from __future__ import annotations

import math
from typing import Any

from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, example_of, of

_ROTATION = "scipy.spatial.transform.Rotation"
_SLERP = "scipy.spatial.transform.Slerp"
_GRID = "scipy.interpolate.RegularGridInterpolator"
_DENSITY = "scipy.stats.gaussian_kde"


def _numbers(draw: Draw, *shape: int, least: int = -16) -> Any:
    return array("float32", shape, [draw.whole(least, 16) / 8 for _ in range(math.prod(shape))], "device")


def _made(attribute: str, *args: Any, **kwargs: Any) -> Any:
    return {"make": {"attribute": attribute, "args": list(args), "kwargs": kwargs}}


def _quaternions(draw: Draw, *shape: int) -> Any:
    """None is near 0."""
    rows = math.prod(shape[:-1])
    entries = [[draw.whole(1, 16) / 8 * draw.pick([-1, 1]) for _ in range(4)] for _ in range(rows)]
    return array("float32", shape, [each for row in entries for each in row], draw.pick(["device", "numpy"]))


def _rotation(draw: Draw, count: int | None = None) -> Any:
    return _made(f"{_ROTATION}.from_quat", _quaternions(draw, *([] if count is None else [count]), 4))


def _count(draw: Draw) -> int | None:
    return draw.pick([None, 1, 2, 3])


_SEQUENCES = ("z", "xyz", "XYZ", "zyx", "ZXZ", "xyx", "xz", "YZ", "xyZ", "abc")


@example_of(*(f"{_ROTATION}.{name}" for name in ("from_quat", "from_matrix", "from_rotvec", "from_mrp", "from_euler")))
def _from(draw: Draw) -> Example:
    name = draw.function.rpartition(".")[2]
    lead = draw.pick([(), (), (2,), (1,)])
    degrees = (
        {"degrees": draw.pick([True, False])} if name in ("from_rotvec", "from_euler") and draw.chance(0.5) else {}
    )
    if name == "from_quat":
        return of(_quaternions(draw, *lead, 4))
    if name == "from_matrix":
        quarter = draw.pick(
            [[0, -1, 0, 1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0.6, -0.8, 0, 0.8, 0.6], [0, 0, 1, 0, 1, 0, -1, 0, 0]]
        )
        entries = [float(each) for each in quarter] * math.prod(lead)
        return of(array("float32", (*lead, 3, 3), entries, "device"))
    if name == "from_euler":
        sequence = draw.pick(_SEQUENCES)
        return of(sequence, _numbers(draw, *lead, len(sequence)), **degrees)
    return of(_numbers(draw, *lead, draw.weighted({3: 12, 4: 1})), **degrees)


@example_of(f"{_ROTATION}.identity")
def _identity(draw: Draw) -> Example:
    return of(*([draw.pick([None, 1, 2, 3])] if draw.chance(0.7) else []))


@example_of(f"{_ROTATION}.random")
def _random(draw: Draw) -> Example:
    key = {"key": {"seed": draw.whole(0, 9), "typed": True}}
    return of(key, *([draw.pick([None, 1, 2])] if draw.chance(0.6) else []))


@example_of(f"{_ROTATION}.concatenate")
def _concatenate(draw: Draw) -> Example:
    return of([_rotation(draw, 2) for _ in range(draw.pick([1, 2, 3]))])


@example_of(*(f"{_ROTATION}.{name}" for name in ("as_matrix", "as_mrp", "magnitude", "inv")))
def _of_rotations(draw: Draw) -> Example:
    return of(_rotation(draw, _count(draw)))


@example_of(f"{_ROTATION}.as_quat", f"{_ROTATION}.as_rotvec", f"{_ROTATION}.as_euler")
def _as(draw: Draw) -> Example:
    name = draw.function.rpartition(".")[2]
    named: dict[str, Any] = {}
    if name == "as_quat":
        named = {each: draw.pick([True, False]) for each in ("canonical", "scalar_first") if draw.chance(0.5)}
    elif draw.chance(0.5):
        named["degrees"] = draw.pick([True, False])
    sequence = (
        [draw.pick([each for each in _SEQUENCES if len(each) == 3 or each == "xz"])] if name == "as_euler" else []
    )
    return of(_rotation(draw, _count(draw)), *sequence, **named)


@example_of(f"{_ROTATION}.apply")
def _apply(draw: Draw) -> Example:
    count = _count(draw)
    shape = draw.pick([(3,), (1, 3), (count, 3)] if count else [(3,), (2, 3)])
    named = {"inverse": draw.pick([True, False])} if draw.chance(0.5) else {}
    return of(_rotation(draw, count), _numbers(draw, *shape), **named)


@example_of(f"{_ROTATION}.__mul__")
def _product(draw: Draw) -> Example:
    count = _count(draw)
    return of(_rotation(draw, count), _rotation(draw, draw.pick([count, None, 1])))


@example_of(f"{_ROTATION}.mean")
def _mean(draw: Draw) -> Example:
    count = draw.pick([1, 2, 3])
    named = {"weights": _numbers(draw, count, least=1)} if draw.chance(0.5) else {}
    return of(_rotation(draw, count), **named)


@example_of(f"{_ROTATION}.__getitem__", f"{_ROTATION}.__len__")
def _part(draw: Draw) -> Example:
    index = [draw.pick([0, 1, -1, {"slice": [0, 2, None]}])] if draw.function.endswith("getitem__") else []
    return of(_rotation(draw, draw.pick([2, 3, 3, None])), *index)


def _times(draw: Draw, count: int) -> Any:
    return array("float32", (count,), [0.0, 0.5, 2.0, 3.5][:count], draw.pick(["device", "numpy"]))


@example_of(f"{_SLERP}.init")
def _way(draw: Draw) -> Example:
    count = draw.pick([2, 3, 4])
    return of(_times(draw, count), _rotation(draw, draw.weighted({count: 9, 2: 1})))


@example_of(f"{_SLERP}.__call__")
def _on_the_way(draw: Draw) -> Example:
    way = _made(f"{_SLERP}.init", _times(draw, 3), _rotation(draw, 3))
    shape = draw.pick([(), (2,), (4,)])
    return of(way, array("float32", shape, [draw.whole(0, 16) / 8 for _ in range(math.prod(shape))], "device"))


@example_of(f"{_GRID}.__call__")
def _interpolated(draw: Draw) -> Example:
    axes = [[0.0, 1.0, 2.5], [-1.0, 0.5, 1.0, 2.0]][: draw.pick([1, 2])]
    points = tuple_of([array("float32", (len(each),), each, "device") for each in axes])
    named: dict[str, Any] = {}
    if draw.chance(0.5):
        named["method"] = draw.pick(["linear", "nearest"])
    if draw.chance(0.5):
        named["fill_value"] = draw.pick([0.5, None, math.nan])
    behind = draw.pick([(), (), (2,)])
    grid = _made(_GRID, points, _numbers(draw, *map(len, axes), *behind), **named)
    lead = draw.pick([(), (4,), (2, 2)])
    return of(grid, _numbers(draw, *lead, len(axes), least=-2))


def _estimate(draw: Draw, width: int) -> Any:
    count = draw.pick([4, 5])
    shape = (count,) if width == 1 and draw.chance(0.6) else (width, count)
    named: dict[str, Any] = {}
    if draw.chance(0.4):
        named["bw_method"] = draw.pick(["scott", "silverman", 0.5])
    if draw.chance(0.4):
        named["weights"] = _numbers(draw, count, least=1)
    return _made(_DENSITY, _numbers(draw, *shape), **named)


@example_of(*(f"{_DENSITY}.{name}" for name in ("evaluate", "pdf", "logpdf", "__call__")))
def _densities(draw: Draw) -> Example:
    width = draw.pick([1, 1, 2])
    return of(
        _estimate(draw, width), _numbers(draw, *draw.pick([(width, 3), (3,) if width == 1 else (2, 1), (width,)]))
    )


@example_of(f"{_DENSITY}.integrate_box_1d", f"{_DENSITY}.integrate_box")
def _box(draw: Draw) -> Example:
    low = draw.whole(-16, 8) / 8
    return of(_estimate(draw, draw.weighted({1: 5, 2: 1})), low, low + draw.pick([0.5, 1.0, math.inf]))


@example_of(f"{_DENSITY}.integrate_gaussian")
def _beside_a_normal_one(draw: Draw) -> Example:
    width = draw.pick([1, 2])
    cov = array("float32", (width, width), [2.0 if i == j else 0.25 for i in range(width) for j in range(width)])
    return of(_estimate(draw, width), _numbers(draw, width), cov)


@example_of(f"{_DENSITY}.integrate_kde")
def _beside_another(draw: Draw) -> Example:
    width = draw.pick([1, 2])
    return of(_estimate(draw, width), _estimate(draw, draw.weighted({width: 9, 1: 1})))


@example_of(f"{_DENSITY}.resample")
def _resampled(draw: Draw) -> Example:
    key = {"key": {"seed": draw.whole(0, 9), "typed": True}}
    return of(_estimate(draw, draw.pick([1, 2])), key, *([tuple_of([draw.pick([1, 3])])] if draw.chance(0.6) else []))


@example_of(f"{_DENSITY}.set_bandwidth")
def _another_width(draw: Draw) -> Example:
    return of(_estimate(draw, 1), 0.5)
