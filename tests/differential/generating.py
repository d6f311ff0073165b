"""Calls from a seed: a function, arguments for its parameters by their kinds, and how it is carried out."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import arrays, kinds
from .draws import Draw
from .examples import EXAMPLES
from .invalid_inputs import wild
from .language import Described, call
from .library import CLASSES
from .parameters import LEFT_OUT, kind_of

#: How many of the calls that are not tame have one argument that its parameter cannot use.
WILD = 0.36
#: What both have and is not judged, by the reason.
NOT_JUDGED = {
    "NumPy's own, and state of the process": """numpy.get_printoptions numpy.set_printoptions numpy.printoptions""",
    "classes that nobody calls, or that hold what they are given": """numpy.ndarray numpy.generic numpy.number
        numpy.character numpy.flexible numpy.floating numpy.inexact numpy.integer numpy.complexfloating
        numpy.signedinteger numpy.unsignedinteger numpy.object_ numpy.dtype nn.initializers.Initializer
        tree_util.PyTreeDef tree_util.DictKey tree_util.FlattenedIndexKey tree_util.GetAttrKey tree_util.SequenceKey
        lax.GatherDimensionNumbers lax.GatherScatterMode lax.Precision lax.RandomAlgorithm lax.RoundingMethod
        lax.AccuracyMode lax.ConvDimensionNumbers lax.DotAlgorithm lax.DotAlgorithmPreset lax.Tolerance
        lax.RaggedDotDimensionNumbers
        lax.ScatterDimensionNumbers dtypes.TypePromotionError dtypes.extended dtypes.prng_key numpy.ComplexWarning
        numpy.ufunc numpy.frompyfunc
        tree_util.KeyEntry tree_util.KeyPath
        scipy.optimize.OptimizeResults scipy.spatial.transform.Rotation scipy.spatial.transform.Slerp
        experimental.sparse.JAXSparse experimental.sparse.SparseEfficiencyError
        experimental.sparse.SparseEfficiencyWarning""",
    "registers a class for the rest of the process": """tree_util.register_dataclass tree_util.register_pytree_node
        tree_util.register_pytree_node_class tree_util.register_pytree_with_keys
        tree_util.register_pytree_with_keys_class tree_util.register_static""",
    "nobody promises what it holds": """numpy.empty numpy.empty_like lax.empty""",
    "of the array as an object of its process": """array.__del__ array.delete array.aval array.at array.committed
        array.device array.devices array.sharding array.traceback array.unsafe_buffer_pointer array.is_ready
        array.platform array.to_device array.on_device_size_in_bytes array.copy_to_host_async array.clone
        array.is_deleted array.weak_type array.__hash__ array.__buffer__""",
}
_NOT_JUDGED = {name for names in NOT_JUDGED.values() for name in names.split()}


class Function(NamedTuple):
    """One that both libraries have, with the parameters that both have."""

    name: str
    #: Name, kind and whether it may be left out.
    parameters: list[list[Any]]
    is_property: bool


def judged(ours: Mapping[str, Any], jax: Mapping[str, Any]) -> list[Function]:
    """The functions to compare, in a fixed order."""
    both = [name for name in sorted(ours) if name in jax and name not in _NOT_JUDGED]
    return [Function(name, _common(ours[name], jax[name]), ours[name]["sort"] == "property") for name in both]


def _common(ours: Mapping[str, Any], jax: Mapping[str, Any]) -> list[list[Any]]:
    """The parameters as jax names them; where our function names its own, those that both have."""
    theirs, own = jax["parameters"], ours["parameters"]
    if theirs is None:
        return own or []
    if own is None or _takes_anything(own):
        return theirs
    if _takes_anything(theirs):
        return own
    names = {name for name, *_ in own}
    return [each for each in theirs if each[0] in names or not each[2]]


def _takes_anything(parameters: Sequence[Sequence[Any]]) -> bool:
    """Whether a signature has ``*args`` or ``**kwargs``, so that it says less than it might."""
    return any(each[1] in ("VAR_KEYWORD", "VAR_POSITIONAL") for each in parameters)


#: Parameters that say where results lie and how exact other hardware is, and the first one of methods.
_NOT_MISSED = {"out_sharding", "accuracy", "self"}


def signature_differences(ours: Mapping[str, Any], jax: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Functions whose parameters have other names than jax's, with what differs."""
    for name in sorted(ours):
        if name not in jax or name in _NOT_JUDGED:
            continue
        own, theirs = ours[name]["parameters"], jax[name]["parameters"]
        if own is None or theirs is None or _takes_anything(own) or _takes_anything(theirs):
            continue
        known = {each[0] for each in own} | _NOT_MISSED
        lacking = [each[0] for each in theirs if each[0] not in known and not each[0].startswith("_")]
        if lacking:
            yield name, f"lacks the parameters {', '.join(lacking)}"


def calls(functions: Sequence[Function], seed: int, count: int) -> Iterator[dict[str, Described]]:
    """That many calls: the functions in turn, in an order that the seed mixes, each call by the seed and its round."""
    mixed = sorted(functions, key=lambda function: zlib.crc32(f"{seed} {function.name}".encode()))
    for number in range(count):
        round_, place = divmod(number, len(mixed))
        yield drawn_call(mixed[place], seed, round_)


def drawn_call(function: Function, seed: int, round_: int) -> dict[str, Described]:
    """The call of a function that belongs to a seed: the same, whatever other functions there are."""
    draw = Draw([seed, zlib.crc32(function.name.encode()), round_], function.name)
    if function.name in EXAMPLES:
        args, kwargs, how = EXAMPLES[function.name](draw)
    else:
        args, kwargs, how = *_by_parameters(function, draw), None
    if not draw.tame and draw.chance(WILD):
        args, kwargs = _with_wild(draw, args, kwargs)
    return call(function.name, args, kwargs, how or ("jit" if draw.chance(0.12) else "eager"), draw.chance(0.12))


def bad_call(function: Function, seed: int, round_: int) -> dict[str, Described]:
    """The same call with one argument that its parameter cannot use, or hardly; without one it is left as it is."""
    drawn = drawn_call(function, seed, round_)
    draw = Draw([seed, zlib.crc32(function.name.encode()), round_, 1], function.name)
    args, kwargs = _with_wild(draw, drawn["args"], drawn["kwargs"])
    return {**drawn, "args": args, "kwargs": kwargs}


_AXES = {"axis", "axes", "dimension", "dimensions", "axis1", "axis2", "source"}


def _by_parameters(function: Function, draw: Draw) -> tuple[list[Described], dict[str, Described]]:
    args: list[Described] = []
    kwargs: dict[str, Described] = {}
    parameters = list(function.parameters)
    if draw.rank < 2 and draw.chance(0.6) and _AXES & {name for name, *_ in parameters}:
        draw.shape = draw.weighted(arrays.MATRICES)
    if function.name.startswith("array."):
        args.append(draw.array_of(draw.dtype, draw.shape, "device"))
        parameters = [] if function.is_property else parameters[1:]
    is_operator = function.name.startswith("array.__")
    by_place = True  # as long as nothing was left out
    few = sum(optional for *_, optional in parameters) <= 3
    given = draw.pick([0.0, 0.5, 0.7, 0.9] if few else [0.0, 0.25, 0.35, 0.5])  # of those that may be left out
    for name, kind, optional in parameters:
        if name in LEFT_OUT or kind == "VAR_KEYWORD" or (optional and not draw.chance(given)):
            by_place = False
        elif kind == "VAR_POSITIONAL":
            args.extend(_several(draw, name) if by_place else [])
            by_place = False
        elif kind != "POSITIONAL_ONLY" and (
            kind == "KEYWORD_ONLY" or not by_place or (draw.chance(0.12) and not is_operator)
        ):
            by_place = False
            kwargs[name] = _argument(draw, name)
        elif by_place:
            args.append(_argument(draw, name))
    return args, kwargs


def _argument(draw: Draw, name: str) -> Described:
    return (kind_of(draw.function, name) or kinds.any_array)(draw)


def _several(draw: Draw, name: str) -> list[Described]:
    """Arguments for a parameter that takes any number of them."""
    draws = kind_of(draw.function, name) or kinds.any_array
    one = kinds.any_array if draws is kinds.array_list else draws
    return [one(draw) for _ in range(draw.pick([0, 1, 1, 2, 3]))]


def _with_wild(
    draw: Draw, args: list[Described], kwargs: dict[str, Described]
) -> tuple[list[Described], dict[str, Described]]:
    """The arguments with one in place of which stands something else."""
    owner = draw.function.rpartition(".")[0]
    of_object = owner in CLASSES and bool(args) and isinstance(args[0], dict) and "make" in args[0]
    first = 1 if draw.function.startswith("array.") or of_object else 0
    places: list[Any] = [*range(first, len(args)), *kwargs]
    if not places:
        return args, kwargs
    place = draw.pick(places)
    if isinstance(place, int):
        return [*args[:place], wild(draw), *args[place + 1 :]], kwargs
    return args, {**kwargs, place: wild(draw)}
