"""Keys, random numbers, initial values."""

from __future__ import annotations

from .. import kinds
from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, an_array, example_of, of


@example_of("random.categorical")
def _categorical(draw: Draw) -> Example:
    return of(
        kinds.key(draw),
        an_array(draw, *draw.pick([(3,), (2, 3)]), dtype="float32"),
        **({"shape": tuple_of([2])} if draw.chance(0.2) else {}),
    )


@example_of("random.choice")
def _choice(draw: Draw) -> Example:
    p = {"p": array("float32", (3,), [0.5, 0.25, 0.25])} if draw.chance(0.3) else {}
    source = an_array(draw, 3) if draw.chance(0.6) else draw.pick([3, 0, 5])
    return [kinds.key(draw), source, tuple_of([2])], {**p, **({"replace": False} if draw.chance(0.4) else {})}, None


@example_of("random.randint")
def _randint(draw: Draw) -> Example:
    low, high = draw.pick(
        [
            (0, 10),
            (-5, 5),
            (0, 0),
            (5, 1),
            (0, 256),
            (-(2**31), 2**31 - 1),
            (0, 2**40),
            (array("int32", (3,), [0, 1, 2]), 9),
        ]
    )
    return of(
        kinds.key(draw),
        tuple_of([3]),
        low,
        high,
        *([draw.pick(["int32", "uint8", "int8", "uint32", "int64", "float32"])] if draw.chance(0.5) else []),
    )


@example_of("random.truncated_normal")
def _truncated(draw: Draw) -> Example:
    low, high = draw.pick([(-1, 1), (0.0, 2.5), (array("float32", (2,), [-1, 0]), 3.0)])
    return of(kinds.key(draw), low, high, *([tuple_of([2])] if draw.chance(0.6) else []))


@example_of("random.key_data", "random.key_impl")
def _key_data(draw: Draw) -> Example:
    return of(kinds.key(draw))


@example_of("random.wrap_key_data")
def _wrap_key_data(draw: Draw) -> Example:
    return of(
        array("uint32", draw.pick([(2,), (3, 2), (3,)]), range(draw.pick([2])) if False else [1, 2])
        if draw.chance(0.6)
        else array("uint32", (2, 2), [1, 2, 3, 4])
    )


@example_of("lax.rng_bit_generator")
def _rng_bit_generator(draw: Draw) -> Example:
    algorithm = {"algorithm": {"attribute": f"lax.RandomAlgorithm.{draw.pick(['RNG_PHILOX', 'RNG_THREE_FRY'])}"}}
    return (
        [
            array("uint32", (4,), [draw.whole(0, 9), 1, 2**32 - 1, draw.whole(0, 9)]),
            kinds.shape(draw),
            *([draw.pick(["uint8", "uint16", "uint32", "uint64", "int32"])] if draw.chance(0.5) else []),
        ],
        algorithm if draw.chance(0.5) else {},
        None,
    )


@example_of("lax.rng_uniform")
def _rng_uniform(draw: Draw) -> Example:
    dtype = draw.pick(["float32", "int32", "float16"])
    return of(array(dtype, (), [0]), array(dtype, (), [draw.pick([0, 1, 7])]), kinds.shape(draw))


@example_of("nn.initializers.ones", "nn.initializers.zeros")
def _initial_values(draw: Draw) -> Example:
    return of(kinds.key(draw), kinds.shape(draw), *([kinds.float_dtype(draw)] if draw.chance(0.5) else []))


@example_of("nn.initializers.variance_scaling")
def _variance_scaling(draw: Draw) -> Example:
    return of(
        draw.pick([1.0, 2, 0.5, 0]),
        draw.pick(["fan_in", "fan_out", "fan_avg", "fan"]),
        draw.pick(["normal", "truncated_normal", "uniform", "other"]),
    )


def _parameter(draw: Draw) -> object:
    return draw.pick([2.0, 3, array("float32", (2,), [0.5, 2.0]), array("float32", (3, 1), [1, 2, 10])])


def _sizes(draw: Draw) -> list[object]:
    return [tuple_of(draw.pick([[2], [3, 2], [1, 3, 2]]))] if draw.chance(0.6) else []


@example_of(
    *(f"random.{name}" for name in ("chisquare", "gamma", "lognormal", "loggamma", "pareto", "rayleigh", "t", "wald"))
)
def _of_one_parameter(draw: Draw) -> Example:
    return of(kinds.key(draw), _parameter(draw), *_sizes(draw))


@example_of("random.beta", "random.f")
def _of_two_parameters(draw: Draw) -> Example:
    return of(kinds.key(draw), draw.pick([2.0, 3]), draw.pick([0.5, 4]), *_sizes(draw))


@example_of("random.double_sided_maxwell", "random.weibull_min")
def _of_a_place_and_a_scale(draw: Draw) -> Example:
    return of(kinds.key(draw), _parameter(draw), draw.pick([0.5, 4]), *([tuple_of([2])] if draw.chance(0.3) else []))


@example_of("random.triangular")
def _triangular(draw: Draw) -> Example:
    return of(kinds.key(draw), draw.pick([-1, 0.0]), draw.pick([1, 0.5]), _parameter(draw), *_sizes(draw))


@example_of("random.dirichlet")
def _dirichlet(draw: Draw) -> Example:
    alpha = draw.pick([array("float32", (3,), [0.5, 1, 4]), array("float32", (2, 2), [1, 2, 3, 4]), 1.0])
    return of(kinds.key(draw), alpha, *([tuple_of([3, 2])] if draw.chance(0.3) else []))


@example_of("random.geometric")
def _geometric(draw: Draw) -> Example:
    p = draw.pick([0.3, 0.9, array("float32", (2,), [0.1, 0.5])])
    return of(kinds.key(draw), p, *_sizes(draw))


@example_of("random.poisson")
def _poisson(draw: Draw) -> Example:
    return of(kinds.key(draw), draw.pick([0, 3.5, 50, array("float32", (2,), [1, 20])]), *_sizes(draw))


@example_of("random.binomial")
def _binomial(draw: Draw) -> Example:
    p = draw.pick([0.3, 0.9, array("float32", (2,), [0.1, 0.5])])
    return of(kinds.key(draw), draw.pick([0, 5.0, 100]), p, *_sizes(draw))


@example_of("random.multinomial")
def _multinomial(draw: Draw) -> Example:
    p = array("float32", (3,), [0.25, 0.25, 0.5])
    return [kinds.key(draw), draw.pick([5, 20.0]), p], {"shape": tuple_of([2, 3])} if draw.chance(0.4) else {}, None


@example_of("random.multivariate_normal")
def _multivariate_normal(draw: Draw) -> Example:
    mean = draw.pick([array("float32", (2,), [1, -1]), array("float32", (3, 2), range(6)), 1.0])
    cov = draw.pick([array("float32", (2, 2), [2, 0.5, 0.5, 1]), array("float32", (3, 3), range(9))])
    return of(kinds.key(draw), mean, cov, *([tuple_of([3])] if draw.chance(0.4) else []))


@example_of("random.generalized_normal")
def _generalized_normal(draw: Draw) -> Example:
    return of(kinds.key(draw), draw.pick([1, 2.5]), *_sizes(draw))


@example_of("random.ball")
def _ball(draw: Draw) -> Example:
    return of(kinds.key(draw), draw.pick([1, 3]), draw.pick([1, 2, 2.5]), *_sizes(draw))


@example_of("random.orthogonal")
def _orthogonal(draw: Draw) -> Example:
    return of(kinds.key(draw), draw.pick([1, 2, 3]), *_sizes(draw))


@example_of("nn.initializers.orthogonal", "nn.initializers.delta_orthogonal")
def _orthogonal_initializer(draw: Draw) -> Example:
    return of(draw.pick([1.0, 2, 0.5]), *([draw.pick([-1, 0])] if draw.chance(0.4) else []))
