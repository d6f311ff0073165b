"""The kind of each parameter, by its name; where one function means something else by it, by both."""

from __future__ import annotations

from collections.abc import Callable

from . import kinds
from .draws import Draw
from .kinds import one_of, texts
from .language import Described, array

Kind = Callable[[Draw], Described]

_MODES = texts("clip", "wrap", "fill", "raise", "drop", "promise_in_bounds")
_NAMES: dict[Kind, str] = {
    kinds.any_array: """x a y b x1 x2 arr ary m v A z val object operand lhs rhs array element test_elements ar like_arr
        prototype values elems on_true on_false data logits f update init xs tree_ array_like x_ fun_arg init_val""",
    kinds.boolean_array: "where condition pred which",
    kinds.index_array: "indices index obj start_indices start_index limit_index segment_ids",
    kinds.vector: "ar1 ar2 xp fp a1 a2 filt p xi fweights aweights weights sorter",
    kinds.array_list: "arrays tup arys operands keys condlist choicelist choices multi_index args",
    kinds.scalar_or_array: "min max lower upper minval maxval default to_end to_begin prepend append mean variance",
    kinds.fill: "fill_value initial padding_value nan posinf neginf left right",
    kinds.number: "rtol atol alpha negative_slope epsilon base dx step scale stddev value start stop x0 period lam",
    kinds.axis: """axis1 axis2 axisa axisb axisc dimension split_axis concat_axis source destination in_axis out_axis
        scatter_dimension reduction_dimension start_dimension batch_axis""",
    kinds.axes: "axis",
    kinds.several_axes: "dimensions axes",
    kinds.permutation: "permutation perm",
    kinds.shape: "shape sizes dims new_shape slice_sizes",
    kinds.new_shape: "new_sizes",
    kinds.dtype: "dtype new_dtype index_dtype from_ to arg1 arg2 int_type out_dtype",
    kinds.float_dtype: "preferred_element_type",
    kinds.count: """n N M num ndim size length num_classes num_segments minlength total_repeat_length ddof rank num_keys
        stride slice_size ndmin stop_dimension exponent_bits mantissa_bits correction""",
    kinds.offset: "k offset decimals shift shift_ d",
    kinds.flag: """keepdims stable descending endpoint retstep equal_nan rowvar bias assume_unique invert density
        return_index return_inverse return_counts return_indices return_sign returned reverse is_stable independent
        replace deg sparse copy increasing wrap inplace sorted approximate tiled unique_indices indices_are_sorted
        include_initial simple weak_type promote_integers wrap_negative_indices overwrite_input aggregate_to_topk
        allow_negative_indices assume_unique_indices""",
    kinds.repeats: "repeats",
    kinds.repetitions: "reps",
    kinds.sections: "indices_or_sections",
    kinds.pad_width: "pad_width",
    kinds.probability: "q",
    kinds.key: "key",
    kinds.seed: "seed",
    kinds.tree: "tree prefix_tree full_tree iterable rest leaves",
    kinds.treedef: "treedef outer_treedef inner_treedef structure",
    kinds.interval: "range",
    kinds.bins: "bins",
    texts("C", "F", "A", "K"): "order",
    texts("left", "right"): "side",
    texts("linear", "lower", "higher", "midpoint", "nearest"): "method",
    _MODES: "mode",
    texts("xy", "ij"): "indexing",
    texts("no", "equiv", "safe", "same_kind", "unsafe"): "casting",
    texts("f", "b", "fb", "bf"): "trim",
    texts("fan_in", "fan_out", "fan_avg"): "mode_of_scaling",
    texts("normal", "truncated_normal", "uniform"): "distribution",
    one_of(None, "highest", "default", "float32", "bfloat16", {"attribute": "lax.Precision.HIGHEST"}): "precision",
    one_of(None, {"attribute": "lax.AccuracyMode.HIGHEST"}, {"attribute": "lax.AccuracyMode.DEFAULT"}): "accuracy",
    one_of(None, "fro", 1, 2, -1, float("inf"), float("-inf"), 0, 3): "ord",
    one_of(None, "threefry2x32", "fry"): "impl",
    one_of(None, None, "stable"): "kind",
    one_of(0.95, 0.5, 1.0): "recall_target",
    one_of(-1, 10): "reduction_input_size_override",
    one_of(None, 20, 75): "max_line_width",
    one_of(None, 0, 2, -1): "number",
    one_of(1, 2): "edge_order",
    one_of(0, 1, 2, {"attribute": "lax.RoundingMethod.TO_NEAREST_EVEN"}): "rounding_method",
    one_of(True, False, "optimal", "greedy", "auto"): "optimize",
    one_of(None, {"function": "is_list"}): "is_leaf",
    one_of(None, 1, 2, True): "unroll",
    one_of(None, 1, 2): "batch_size bucket_size",
}

BY_NAME: dict[str, Kind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}

#: Left as they are: what they are for (placement, accuracy on other hardware) is nothing that a call here shows.
LEFT_OUT = {"out", "device", "out_sharding", "sharding", "_dot_general", "_split_transpose", "kwargs", "kw"}

#: Where a function means something of its own by a name.
BY_FUNCTION: dict[str, Kind] = {
    "array.__contains__.other": kinds.number,
    "array.item.args": one_of(0, 0, -1, 1, {"tuple": [0, 0]}),
    "numpy.asarray.order": texts("C", "K"),
    "numpy.array.order": texts("C", "K"),
    "numpy.bartlett.M": kinds.count,
    "numpy.broadcast_shapes.shapes": kinds.shape,
    "numpy.broadcast_to.shape": kinds.wider_shape,
    "numpy.digitize.bins": kinds.sorted_array,
    "numpy.digitize.right": kinds.flag,
    "numpy.interp.xp": kinds.sorted_array,
    "numpy.isdtype.kind": one_of(
        "bool", "integral", "real floating", {"dtype": "float32"}, {"tuple": ["bool", "numeric"]}
    ),
    "numpy.pad.mode": texts(
        "constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "median", "empty"
    ),
    "numpy.percentile.q": kinds.per_cent,
    "numpy.nanpercentile.q": kinds.per_cent,
    "numpy.polyder.m": kinds.count,
    "numpy.polyint.m": kinds.count,
    "numpy.ravel_multi_index.mode": texts("raise", "wrap", "clip"),
    "numpy.reshape.shape": kinds.new_shape,
    "array.reshape.args": kinds.new_shape,
    "numpy.rollaxis.start": kinds.axis,
    "numpy.searchsorted.a": kinds.sorted_array,
    "numpy.searchsorted.sorter": one_of(None, None, None, array("int32", (3,), [0, 1, 2])),
    "numpy.searchsorted.method": texts("scan", "scan_unrolled", "sort", "compare_all", "default"),
    "numpy.trapezoid.x": kinds.any_array,
    "numpy.tensordot.axes": one_of(0, 1, 2, {"tuple": [[0], [0]]}, [[1], [0]], {"tuple": [0, 1]}),
    "numpy.linalg.tensordot.axes": one_of(0, 1, 2, {"tuple": [[0], [0]]}, [[1], [0]], {"tuple": [0, 1]}),
    "numpy.transpose.axes": kinds.permutation,
    "numpy.permute_dims.axes": kinds.permutation,
    "numpy.rot90.axes": one_of({"tuple": [0, 1]}, {"tuple": [1, 0]}, {"tuple": [-1, 0]}, [0, 0]),
    "numpy.linspace.axis": one_of(0, -1),
    "numpy.indices.dimensions": kinds.shape,
    "numpy.lexsort.axis": kinds.axis,
    "numpy.ldexp.x2": kinds.index_array,
    "numpy.unravel_index.shape": kinds.shape,
    "numpy.apply_along_axis.axis": kinds.axis,
    "nn.one_hot.x": kinds.index_array,
    "nn.initializers.variance_scaling.mode": texts("fan_in", "fan_out", "fan_avg"),
    "random.permutation.x": kinds.any_array,
    "random.split.num": one_of(0, 1, 2, 5, {"tuple": [2, 2]}, {"tuple": []}),
    "random.bernoulli.p": kinds.scalar_or_array,
    "random.fold_in.data": kinds.seed,
    "lax.conv.lhs": kinds.any_array,
    "lax.expand_dims.dimensions": one_of({"tuple": [0]}, {"tuple": [-1]}, {"tuple": [0, 2]}, [1], {"tuple": []}),
    "lax.squeeze.dimensions": one_of({"tuple": [0]}, {"tuple": []}, [0], 0, -1),
    "lax.top_k.k": kinds.count,
    "lax.polygamma.m": kinds.any_array,
    "lax.round.rounding_method": one_of(0, 1),
    "lax.reduce_precision.exponent_bits": one_of(8, 5, 3, 1, 0, 11),
    "lax.reduce_precision.mantissa_bits": one_of(23, 10, 7, 1, 0),
    "lax.integer_pow.y": kinds.offset,
    "lax.broadcasted_iota.dimension": one_of(0, 0, 1, -1),
    "lax.dynamic_index_in_dim.index": one_of(0, 1, -1, 9),
    "tree_util.treedef_tuple.treedefs": one_of([{"treedef": 1}, {"treedef": [1, 2]}], {"tuple": []}),
}


def kind_of(function: str, parameter: str) -> Kind | None:
    """How an argument for this parameter is drawn; None where nobody has said."""
    if (own := BY_FUNCTION.get(f"{function}.{parameter}")) is not None:
        return own
    if function.startswith("lax.") and parameter == "axis":
        return kinds.axis
    if function.startswith(("lax.reduce_", "lax.rev")) and parameter in ("axes", "dimensions"):
        return kinds.nonnegative_axes
    return BY_NAME.get(parameter)
