"""Reductions that XLA fuses with what stands before them: products of one to four operands of rank 1 to 8, and products
of matrices; squared and the like; summed, or the largest. Some operands have NaN. The oracle is NumPy in float64.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

LIBRARIES = ("xlascope",)
#: What XLA makes of these programs is tested.
COMPILE_QUICKLY = False
#: Parts of the messages of errors that are right.
REFUSALS: tuple[str, ...] = ()

_DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_BEFORE = ("none", "none", "scaled", "shifted", "negated")
_AFTER = (
    "none",
    "none",
    "square",
    "square",
    "abs",
    "exp",
    "tanh",
    "plus one",
    "log1p",
    "sigmoid",
    "sin",
    "sqrt",
    "exp2",
)
_REDUCTIONS = ("sum", "sum", "sum", "max", "min", "mean", "norm")
#: Sizes of long axes: below and above 32,768 elements and 64 KiB, where XLA goes another way.
_LONG = (100, 4097, 20_000, 32_769, 40_000, 65_537)
#: No operand has more elements.
_MAX_ELEMENTS = 300_000
#: Units in the last place of float32 by which a sum is off for each element, where XLA adds one after another.
_ERROR_OF_A_SUM = 0.01
#: Sums of more elements overflow.
_MAX_FLOAT16_ELEMENTS = 30_000


def draw(dice: Random) -> dict[str, Any]:
    """Return a random program."""
    form = dice.choice(("elementwise", "elementwise", "matrix", "rows"))
    program = {
        "form": form,
        "dtype": dice.choice(("float32", "float32", "float32", "float16", "bfloat16")),
        "before": dice.choice(_BEFORE),
        "after": dice.choice(_AFTER),
        "reduction": dice.choice(_REDUCTIONS),
        "seed": dice.randrange(1 << 30),
        "twice": dice.random() < 0.15,
        "nans": dice.choice((0, 0, 1, 3)),
    }
    program |= _elementwise(dice) if form == "elementwise" else _matrices(dice, form)
    if program["dtype"] == "float16":  # the largest number is 65,504
        large = max(map(math.prod, program["shapes"])) > _MAX_FLOAT16_ELEMENTS
        program |= {"dtype": "bfloat16"} if large else {"after": dice.choice(("none", "tanh", "abs"))}
        program["reduction"] = program["reduction"].replace("norm", "max")
    return program


def _elementwise(dice: Random) -> dict[str, Any]:
    rank = dice.choice((1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 8))
    shape = [dice.choice((1, 2, 3, 4, 5, 8)) for _ in range(rank)]
    if rank <= 3 and dice.random() < 0.5:
        shape[dice.randrange(rank)] = dice.choice(_LONG)
    while math.prod(shape) > _MAX_ELEMENTS:
        largest = shape.index(max(shape))
        shape[largest] = max(1, shape[largest] // 2)
    operands = []
    for number in range(dice.choice((1, 2, 2, 2, 3, 4))):
        kept = [1 if number and dice.random() < 0.15 else size for size in shape]
        drop = dice.randrange(rank) if number and dice.random() < 0.2 else 0
        operands.append(kept[drop:])
    axes = sorted(dice.sample(range(rank), dice.choice((1, 1, 1, min(2, rank), rank))))
    mapped = dice.random() < 0.3 and rank > 1 and all(len(x) == rank and x[0] == shape[0] for x in operands)
    if mapped:
        axes = sorted({axis % (rank - 1) for axis in axes})
    return {"shapes": operands, "axes": axes, "mapped": mapped}


def _matrices(dice: Random, form: str) -> dict[str, Any]:
    n = dice.choice((8, 64, 500, *_LONG))
    m, k = (dice.choice((1, 2, 3, 3, 4, 6, 8, 16, 64)) for _ in "mk")
    while n * max(m, k) > 20 * _MAX_ELEMENTS:
        n //= 2
    if form == "rows":  # a matrix times each row
        return {"shapes": [[m, k], [n, k]], "axes": [0], "mapped": True}
    sides = dice.choice(("nk km", "nk mk", "kn km", "kn mk", "mk kn", "mk nk", "km kn", "km nk"))
    sizes = {"n": n, "m": m, "k": k}
    shapes = [[sizes[letter] for letter in side] for side in sides.split()]
    return {"shapes": shapes, "axes": dice.choice(([0], [1], [0, 1])), "mapped": False, "sides": sides}


def answer(lib: Any, program: dict[str, Any]) -> dict[str, Any]:
    """Run a program compiled, and compare it with NumPy."""
    operands = _operands(program)
    got = np.asarray(lib.jit(_function(lib, lib.numpy, program))(*operands)).astype(np.float64)
    wide = [x.astype(np.float64) for x in operands]
    want = _function(None, np, program)(*wide)
    scale = _function(None, np, program | {"scale": True})(*wide)
    if got.shape != want.shape:
        return {"problem": f"the shape is {got.shape}, not {want.shape}"}
    is_nan = np.isnan(want)
    error = np.where(is_nan, 0.0, np.abs(got - want) / (scale + 1e-6))
    bad = ~(error <= _tolerance(program)) | (is_nan != np.isnan(got))
    return {"wrong": int(bad.sum()), "of": bad.size, "largest": float(error.max(initial=0.0))}


def judge(program: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """Say what is wrong with an answer; None where nothing is."""
    if "problem" in ours:
        return str(ours["problem"])
    if not ours["wrong"]:
        return None
    return f"{ours['wrong']} of {ours['of']} elements are wrong, the largest relative error is {ours['largest']:.3g}"


def _operands(program: dict[str, Any]) -> list[Any]:
    """Numbers of magnitude 1/2 to 1, so that products of four of them and their sums fit float16; a few NaN in one."""
    generator, dtype = np.random.default_rng(program["seed"]), _DTYPES[program["dtype"]]
    operands = [
        (generator.uniform(0.5, 1.0, shape) * generator.choice([-1.0, 1.0], shape)).astype(dtype)
        for shape in program["shapes"]
    ]
    if nans := program.get("nans", 0):
        operand = operands[generator.integers(len(operands))]
        places = generator.integers(operand.size, size=nans)
        operand.reshape(-1)[places] = np.copysign(np.nan, generator.choice([-1.0, 1.0], nans))
    return operands


def _tolerance(program: dict[str, Any]) -> float:
    """The largest error, relative to the sum of magnitudes."""
    operations = 12.0 + 4 * len(program["shapes"])
    longest = max(math.prod(shape) for shape in program["shapes"])
    added_one_by_one = _ERROR_OF_A_SUM * longest * float(np.finfo(np.float32).eps)
    return operations * float(ml_dtypes.finfo(_DTYPES[program["dtype"]]).eps) + added_one_by_one


def _function(lib: Any, xp: Any, program: dict[str, Any]) -> Any:
    """Return the program as a function of arrays, for a library with its ``numpy``, or for NumPy itself.

    With ``scale`` it computes what errors are relative to: the same of magnitudes.
    """
    scale, axes = program.get("scale", False), tuple(program["axes"])

    def product(operands: Any) -> Any:
        if scale:
            operands = [xp.abs(x) for x in operands]
        if "sides" in program:
            left, right = program["sides"].split()
            rest = "".join(letter for letter in left + right if letter != "k")
            return xp.einsum(f"{left},{right}->{rest}", *operands)
        if program["form"] == "rows":
            return operands[0] @ operands[1]
        result = operands[0]
        for x in operands[1:]:
            result = result * x
        return result

    def one(*operands: Any) -> Any:
        x = _before(xp, program["before"], product(operands), scale)
        x = _after(xp, program["after"], x, scale)
        if program["twice"] and not scale:
            x = x * 0.5 + x * 0.5
        return _reduced(xp, program["reduction"], x, axes, scale)

    if not program["mapped"]:
        return one
    in_axes = (None, 0) if program["form"] == "rows" else 0
    return lib.vmap(one, in_axes) if lib else lambda *operands: _mapped_by_numpy(program, one, operands)


def _mapped_by_numpy(program: dict[str, Any], one: Any, operands: Any) -> Any:
    """Map a function as vmap does: all members at once, along the last axis."""
    if program["form"] == "rows":
        return one(operands[0], operands[1].T)
    result = one(*(np.moveaxis(x, 0, -1) for x in operands))  # so the numbers of other axes are those of one member
    return np.moveaxis(result, -1, 0)


def _before(xp: Any, name: str, x: Any, scale: bool) -> Any:
    if name == "scaled":
        return x * 0.25
    if name == "shifted":
        return x + 0.5
    return -x if name == "negated" and not scale else x


def _after(xp: Any, name: str, x: Any, scale: bool) -> Any:
    if name == "square":
        return x * x
    if name == "abs":
        return xp.abs(x)
    if name == "exp":
        return xp.exp(x * 0.25) * (1 + xp.abs(x) if scale else 1)
    if name in ("tanh", "sin"):
        return x if scale else getattr(xp, name)(x)
    if name == "exp2":
        return xp.exp2(x * 0.25) * (1 + xp.abs(x) if scale else 1)
    if name == "log1p":
        return 1 + x if scale else xp.log1p(xp.abs(x))
    if name == "sigmoid":
        return 1 + x if scale else 1 / (1 + xp.exp(-x))
    if name == "sqrt":
        return 1 + x if scale else xp.sqrt(xp.abs(x) + 1)
    return x + 1 if name == "plus one" else x


def _reduced(xp: Any, name: str, x: Any, axes: tuple[int, ...], scale: bool) -> Any:
    if name in ("max", "min"):
        return xp.abs(x).max(axes) if scale else getattr(xp, name)(x, axes)
    if name == "norm":
        return xp.sqrt(xp.sum(x * x, axes))
    return getattr(xp, name)(x, axes)
