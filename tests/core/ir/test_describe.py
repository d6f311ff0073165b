"""Programs as records: names, paths, variables, counts."""

import numpy as np
import pytest

import xlascope as xs
from xlascope.ir.avals import ShapedArray, make_aval, strip_weak_type
from xlascope.ir.jaxpr_record import describe_program
from xlascope.operations import arithmetic, dot_product, shapes, slicing, trigonometry

X = np.float32([1, 2, 3])


def product(w, x):
    return dot_product.dot_general(w, x, (((1,), (0,)), ((), ())))


@xs.jit
def layer(w, x):
    return trigonometry.tanh(product(w, x))


def loss(parameters, x):
    for w in parameters["weights"]:
        x = layer(w, x)
    scaled = arithmetic.mul(x, xs.device_put(np.float32([1, 2, 3])))
    return shapes.reduce_sum(arithmetic.mul(scaled, 0.5), (0,))


PARAMETERS = {"weights": [np.eye(3, dtype=np.float32)] * 3}
PROGRAMS = {
    "loss": lambda: xs.make_jaxpr(loss)(PARAMETERS, X),
    "gradient": lambda: xs.make_jaxpr(xs.grad(loss))(PARAMETERS, X),
    "second derivative": lambda: xs.make_jaxpr(xs.hessian(lambda x: loss(PARAMETERS, x)))(X),
    "batch of jitted gradients": lambda: xs.make_jaxpr(xs.vmap(xs.jit(xs.grad(loss)), (None, 0)))(PARAMETERS, X[None]),
    "nothing": lambda: xs.make_jaxpr(lambda x: x)(X),
    "a literal": lambda: xs.make_jaxpr(lambda x: (2.0, x))(X),
}  # fmt: skip


@pytest.fixture(params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]()


def count(jaxpr):
    return sum(1 + sum(count(body.jaxpr) for body in equation.operation.bodies()) for equation in jaxpr.eqns)


def levels(described, above=()):
    """Every jaxpr of a record with those that enclose it."""
    yield described, above
    for equation in described.equations:
        for body in equation.bodies:
            yield from levels(body, (*above, described))


def test_walk_meets_every_equation(program):
    assert len(list(describe_program(program).walk())) == count(program.jaxpr)


def test_paths_are_the_indices_from_the_outermost_program(program):
    def check(jaxpr, prefix):
        for index, equation in enumerate(jaxpr.equations):
            assert equation.path == f"{prefix}{index}"
            for body in equation.bodies:
                check(body, f"{equation.path}/")

    described = describe_program(program)
    check(described, "")
    paths = [equation.path for equation in described.walk()]
    assert len(set(paths)) == len(paths)


def test_each_operand_is_a_variable_of_its_level_or_a_literal(program):
    for jaxpr, _ in levels(describe_program(program)):
        known = {*jaxpr.constants, *jaxpr.inputs}
        for equation in jaxpr.equations:
            for name in equation.inputs:
                assert name in known or ":" in name, (equation, name)
            known.update(equation.outputs)
        assert all(name in known or ":" in name for name in jaxpr.outputs)
        assert set(jaxpr.variables) == known


def test_names_are_given_once(program):
    for jaxpr, above in levels(describe_program(program)):
        assert not any(set(jaxpr.variables) & set(outer.variables) for outer in above)
        written = [name for equation in jaxpr.equations for name in equation.outputs]
        assert len(set(written)) == len(written)
        assert not set(written) & {*jaxpr.constants, *jaxpr.inputs}


def test_variables_have_the_types_of_the_program(program):
    described = describe_program(program)
    for name, v in zip(described.inputs, program.jaxpr.invars, strict=True):
        variable = described.variables[name]
        assert (variable.shape, variable.dtype, variable.weak_type) == (
            v.aval.shape,
            v.aval.dtype.name,
            v.aval.weak_type,
        )
        assert variable.type_text == v.aval.str_short()


def test_names_are_those_of_the_printed_program(program):
    text = str(program)
    for jaxpr, _ in levels(describe_program(program)):
        used = {*jaxpr.inputs, *jaxpr.outputs, *(name for equation in jaxpr.equations for name in equation.inputs)}
        for variable in jaxpr.variables.values():
            dropped = variable.name not in used  # printed as _ in the outermost program
            assert f"{variable.name}:{variable.type_text}" in text or (dropped and f"_:{variable.type_text}" in text)


def test_arguments_have_the_users_names():
    described = describe_program(PROGRAMS["gradient"]())
    labels = [described.variables[name].label for name in described.inputs]
    assert labels == ["parameters['weights'][0]", "parameters['weights'][1]", "parameters['weights'][2]", "x"]


def test_flops_of_a_call_are_those_of_its_body():
    described = describe_program(PROGRAMS["loss"]())
    calls = [equation for equation in described.equations if equation.bodies]
    assert [call.flops for call in calls] == [2 * 9 + 3] * 3
    assert all(call.name == "layer" for call in calls)


def test_equal_types_are_one_object():
    assert make_aval((2, 3), np.dtype("float32")) is make_aval((2, 3), np.dtype("float32"))
    assert make_aval((2, 3), np.dtype("float32")) is not make_aval((2, 3), np.dtype("float32"), True)
    assert strip_weak_type(make_aval((), np.dtype("float32"), True)) is make_aval((), np.dtype("float32"))
    assert strip_weak_type(make_aval((), np.dtype("float32"))) is make_aval((), np.dtype("float32"))


def test_types_compare_by_what_they_say():
    one = ShapedArray((2,), np.dtype("int32"))
    assert one == make_aval((2,), np.dtype("int32"))
    assert hash(one) == hash(make_aval((2,), np.dtype("int32")))
    assert one != make_aval((3,), np.dtype("int32"))
    assert repr(make_aval((2, 3), np.dtype("float32"), True)) == "ShapedArray(float32[2,3], weak_type=True)"
    assert (one.ndim, one.size, one.str_short()) == (1, 2, "i32[2]")


def test_traced_types_are_the_interned_ones():
    program = xs.make_jaxpr(lambda x: arithmetic.add(arithmetic.mul(x, x), x))(X)
    assert {id(v.aval) for equation in program.eqns for v in equation.outvars} == {id(program.in_avals[0])}


def test_operations_compare_by_value_and_those_that_hold_programs_by_identity():
    assert shapes.Reshape((2, 3)) == shapes.Reshape((2, 3))
    assert hash(shapes.Reshape((2, 3))) == hash(shapes.Reshape((2, 3)))
    assert shapes.Reshape((2, 3)) != shapes.Reshape((3, 2))
    assert shapes.Reshape((2, 3)) != shapes.Transpose((2, 3))
    assert shapes.Squeeze((0,)) != slicing.Rev((0,))
    calls = [xs.make_jaxpr(lambda x: layer(PARAMETERS["weights"][0], x))(X).eqns[-1].operation for _ in range(2)]
    assert calls[0] == calls[0]
    assert {*calls} <= {*calls}


def test_params_and_primitive_are_those_of_the_operation():
    (equation,) = xs.make_jaxpr(lambda x: shapes.reshape(x, (1, 3)))(X).eqns
    assert equation.params == {"new_sizes": (1, 3)}
    assert equation.primitive is shapes.Reshape.primitive
    assert str(equation.primitive) == equation.primitive.name == "reshape"
