"""Rules for ``lax``, ``ops`` and trees."""

from __future__ import annotations

from .. import accuracy, source
from ..comparing import Answer, compared, said
from ..judging import Verdict
from .rule import Rule, ours_says, theirs_says, witness


def _holds_arrays(answer: Answer) -> bool:
    return "dtype" in answer or any(_holds_arrays(each) for each in answer.get("items", ()))


def _same_values(verdict: Verdict) -> bool:
    mine, other = (each.get("items", [{}])[0] for each in (verdict.ours, verdict.theirs))
    return "dtype" in mine and compared(mine, other) is None


RULES: tuple[Rule, ...] = (
    Rule(
        "factors of no reflections",
        "lax.linalg.ormqr",
        ("fails only here",),
        "A matrix holds as many reflections as it has columns; of more factors JAX reads past its end.",
        ours_says(r"at most min\(m, n\) factors"),
    ),
    Rule(
        "as in numpy",
        "lax.*",
        ("accepted only here",),
        "A function of lax takes what JAX's function of the same meaning in numpy takes, with the same answer.",
        witness("numpy's of this name"),
    ),
    Rule(
        "sums of booleans",
        "lax.scatter_add lax.scatter_mul ops.segment_sum array.at.add array.at.mul array.at.multiply",
        ("accepted only here",),
        "The sum of booleans is whether any is true, their product whether all are, as NumPy has them.",
        theirs_says("does not accept dtype bool"),
    ),
    Rule(
        "scales multiplied out",
        "nn.scaled_matmul",
        ("accepted only here", "error class"),
        "JAX has it where cuDNN does; ours multiplies the scales out, as its page says, and looks at them first.",
        theirs_says("rule for primitive 'scaled_matmul' not found"),
    ),
    Rule(
        "accuracies that are none",
        "lax.*",
        ("error class", "fails only here"),
        "What is no accuracy is a TypeError at once; JAX fails when it lowers the function, and logistic never looks.",
        ours_says("accuracy is a lax.Tolerance"),
    ),
    Rule(
        "nothing asked for",
        "lax.approx_max_k lax.approx_min_k",
        ("accepted only here",),
        "The k greatest of a list are none for k = 0, as for top_k.",
        theirs_says("k must be positive, got 0"),
    ),
    Rule(
        "order of an approximate search",
        "lax.approx_max_k lax.approx_min_k",
        ("value", "accuracy"),
        "The search compares by < alone: JAX has any order of equal values, and of all beside a NaN; ours is top_k's.",
        lambda verdict: "nan" in source.line(verdict.call) or _same_values(verdict),
    ),
    Rule(
        "as many as there are",
        "lax.approx_max_k lax.approx_min_k",
        ("shape",),
        "Without aggregation JAX gives what its platform's search leaves over; ours searches exactly, and gives k.",
        lambda verdict: verdict.call["kwargs"].get("aggregate_to_topk") is False,
    ),
    Rule(
        "weak places",
        "lax.top_k lax.approx_max_k lax.approx_min_k",
        ("weak type",),
        "Places are of type int32 whatever is sorted; where the values are weak JAX has them weak, too.",
        lambda verdict: bool(verdict.ours["items"][0]["weak"]) and not verdict.ours["items"][1]["weak"],
    ),
    Rule(
        "examples that do not fit",
        "lax.psum_scatter",
        ("fails only here",),
        "Under vmap JAX adds without looking at the size, and the result has the shape of none of its own answers.",
        ours_says("psum_scatter: axis .* has size .*, but the axis .* has size"),
    ),
    Rule(
        "partial permutations",
        "lax.ppermute",
        ("accepted only here",),
        "Members that nobody sends to get zeros, as JAX documents; under vmap JAX wants whole permutations.",
        theirs_says("Permutation doesn't match the axis size|^Dtype >.. is not a valid JAX array type"),
    ),
    Rule(
        "one target for a source",
        "lax.ppermute",
        ("fails only here",),
        "Nobody sends twice, as JAX documents; under vmap JAX looks at the targets alone.",
        ours_says("^ppermute: the sources .* have to be different numbers"),
    ),
    Rule(
        "bits of narrow integers",
        "lax.population_count lax.clz",
        ("value",),
        "JAX counts in the byte that holds a narrow integer: of -8, which is 1000 in 4 bits, it has 5 bits set.",
        lambda verdict: verdict.ours["dtype"] in ("int4", "int2"),
    ),
    Rule(
        "small numbers computed ahead",
        "lax.rsqrt",
        ("value", "accuracy"),
        "XLA takes a subnormal operand for zero; JAX puts operands into the program, and XLA computes ahead exactly.",
        lambda verdict: verdict.call["how"] == "jit" and "inf" in said(verdict.ours),
    ),
    Rule(
        "zeros counted ahead",
        "lax.clz",
        ("value",),
        "JAX puts operands into the program, where XLA computes ahead and finds -32 zeros before the sign of -1.",
        lambda verdict: bool((accuracy.contents(verdict.theirs) < 0).any()),
    ),
    Rule(
        "nothing to do",
        "lax.* tree.* tree_util.*",
        ("fails only here",),
        "Of a tree without leaves JAX gives the tree, and looks at no other argument.",
        lambda verdict: not _holds_arrays(verdict.theirs),
    ),
    Rule(
        "axes from behind",
        "lax.associative_scan lax.pswapaxes",
        ("accepted only here",),
        "A negative axis counts from behind; JAX takes it, and fails over it inside.",
        theirs_says("rev dimensions must have every element be nonnegative|^cannot reshape array"),
    ),
    Rule(
        "shape of a number",
        "lax.*",
        ("accepted only here",),
        "A number is an array without axes; JAX asks Python's number for its shape.",
        theirs_says("^'(bool|int|float|complex)' object has no attribute '(shape|ndim|dtype)'"),
    ),
    Rule(
        "indices of several types",
        "lax.dynamic_*",
        ("accepted only here",),
        "Start indices of several integer types are converted to one.",
        theirs_says("must be integers of the same type"),
    ),
    Rule(
        "names of axes",
        "lax.*",
        ("error class",),
        "A name that no vmap binds is a NameError; JAX cannot evaluate the operation, or counts axes by it.",
        theirs_says("Evaluation rule for .* not implemented|^axis -?\\d+ is out of bounds for array|is not iterable$"),
    ),
    Rule(
        "high halves of narrow products",
        "lax.mulhi",
        ("value",),
        "JAX has the high half of a product of 4 or 2 bits wrong: 2 times 14 is 28, of which 28 // 16 = 1 is the half.",
        lambda verdict: verdict.ours["dtype"] in ("uint4", "int4", "uint2", "int2"),
    ),
    Rule(
        "leaves",
        "tree.* tree_util.*",
        ("alias",),
        "Functions of trees hand on the leaves they are given, here and in JAX.",
    ),
    Rule(
        "numbers as bounds",
        "lax.fori_loop",
        ("accepted only here",),
        "A Python number beside a bound of an unsigned type is one of that type; JAX has it so beside a signed one.",
        lambda verdict: (
            theirs_says("lower and upper arguments to fori_loop must have equal types")(verdict)
            and any(isinstance(each, int) for each in verdict.call["args"][:2])
        ),
    ),
    Rule(
        "products of floats as integers",
        "lax.dot lax.dot_general",
        ("value",),
        "A product of floats is converted once it is computed; JAX makes its operands integers, so 2.5 counts as 2.",
        lambda verdict: verdict.ours["dtype"].startswith(("int", "uint")) and "float" in source.line(verdict.call),
    ),
    Rule(
        "axes that are no integers",
        "lax.broadcasted_iota",
        ("fails only here",),
        "An axis is an integer; JAX compares 1.5 with those there are, and takes it for one.",
        ours_says("^the dimension of iota is an integer, got -?\\d+\\.\\d+ of type float"),
    ),
    Rule(
        "no first axis",
        "lax.collapse",
        ("fails only here",),
        "The first axis to collapse is an integer, as JAX documents; JAX cuts a shape by what it is given.",
        ours_says("^start_dimension of collapse is an integer, got None"),
    ),
    Rule(
        "complex numbers as integers",
        "lax.convert_element_type",
        ("accepted only here",),
        "A complex number counts by its real part, as a complex array does; JAX asks Python for the int of it.",
        theirs_says("must be a string, a bytes-like object or a real number, not 'complex'$"),
    ),
    Rule(
        "pbroadcast there",
        "lax.pbroadcast",
        ("accepted only here",),
        "JAX's own rule for a mapped axis hands a list to take, which refuses it; nothing can be compared.",
        theirs_says("take requires ndarray or scalar arguments, got <class 'list'>"),
    ),
    Rule(
        "numbers that nobody can have again",
        "lax.rng_uniform",
        ("value", "accuracy"),
        "XLA draws them from a state that is nobody's: no two calls give the same, here or there.",
        lambda verdict: True,
    ),
)
