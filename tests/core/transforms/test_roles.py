"""Which pass made an equation, which forward equation it belongs to, and which line of the user's it comes from."""

import inspect

import numpy as np

import xlascope as xs
from xlascope.ir.jaxpr_record import describe_program
from xlascope.operations import arithmetic, dot_product, exponentials, shapes, tangent_arithmetic, trigonometry

X = np.float32([1, 2, 3])
W = np.ones((3, 3), np.float32)


def product(w, x):
    return dot_product.dot_general(w, x, (((1,), (0,)), ((), ())))


def loss(w, x):
    hidden = trigonometry.tanh(product(w, x))
    return shapes.reduce_sum(trigonometry.sin(hidden), (0,))


@xs.jit
def layer(w, x):
    return trigonometry.tanh(product(w, x))


def nested_loss(w, x):
    hidden = layer(w, x)
    return shapes.reduce_sum(trigonometry.sin(layer(w, hidden)), (0,))


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def by_path(program):
    return {equation.path: equation for equation in program.walk()}


def test_forward_and_backward_equations_of_a_gradient():
    program = describe_program(xs.make_jaxpr(xs.grad(loss))(W, X))
    roles = [equation.role for equation in program.equations]
    assert set(roles) == {"forward", "backward"}
    at = by_path(program)
    forward = [equation.operation for equation in program.equations if equation.role == "forward"]
    assert {"dot_general", "tanh", "sin", "reduce_sum"} <= set(forward)
    for equation in program.walk():
        if equation.role == "backward":
            assert equation.transposes is not None, equation
            assert at[equation.transposes].role == "forward"
            assert at[equation.transposes].source == equation.source


def test_a_backward_equation_points_at_the_operation_whose_derivative_it_is():
    program = describe_program(xs.make_jaxpr(xs.grad(loss))(W, X))
    at = by_path(program)
    pointed = {at[q.transposes].operation for q in program.equations if q.role == "backward"}
    assert pointed == {"dot_general", "tanh", "sin", "reduce_sum"}
    (outer_product,) = [q for q in program.equations if q.role == "backward" and q.operation == "dot_general"]
    assert at[outer_product.transposes].operation == "dot_general"


def test_every_equation_has_its_line():
    program = describe_program(xs.make_jaxpr(xs.grad(loss))(W, X))
    lines = {
        "dot_general": line_of(product, "dot_general"),
        "tanh": line_of(loss, "tanh"),
        "sin": line_of(loss, "sin"),
        "reduce_sum": line_of(loss, "reduce_sum"),
    }
    for equation in program.walk():
        assert equation.source is not None
        assert equation.source.file == __file__
        if equation.operation in lines and equation.role == "forward":
            assert equation.source.line == lines[equation.operation]
            assert equation.source.function in ("loss", "product")
        assert equation.source.line in lines.values()


def test_roles_and_lines_go_through_nested_calls():
    program = describe_program(xs.make_jaxpr(xs.grad(nested_loss))(W, X))
    at = by_path(program)
    calls = [q for q in program.equations if q.operation == "jit"]
    assert [q.role for q in calls] == ["forward", "forward", "backward", "backward"]
    assert [q.name for q in calls] == ["layer"] * 4
    first, second, back_second, back_first = calls
    assert (back_second.transposes, back_first.transposes) == (second.path, first.path)
    lines = {line_of(product, "dot_general"), line_of(layer.__wrapped__, "tanh")}
    for call in calls:
        for equation in by_path_of(call):
            assert equation.source is not None
            assert equation.source.line in lines
            assert equation.role == call.role
    for call in (back_second, back_first):
        for equation in by_path_of(call):
            assert equation.transposes in at
            assert at[equation.transposes].role == "forward"


def by_path_of(call):
    return [equation for body in call.bodies for equation in body.walk()]


def test_a_jitted_gradient_has_the_same_roles():
    program = describe_program(xs.make_jaxpr(xs.jit(xs.grad(nested_loss)))(W, X))
    (outer,) = program.equations
    roles = {equation.role for equation in outer.bodies[0].walk()}
    assert roles == {"forward", "backward"}
    assert all(q.transposes for q in outer.bodies[0].walk() if q.role == "backward")


def test_tangents_of_jvp_are_marked_with_their_line():
    program = describe_program(xs.make_jaxpr(lambda w, x: xs.jvp(loss, (w, x), (w, x))[1])(W, X))
    assert all(q.source is not None for q in program.walk())


def test_second_derivatives_and_batches_keep_lines_and_roles():
    second = xs.make_jaxpr(xs.grad(lambda x: shapes.reduce_sum(xs.grad(loss, 1)(W, x), (0,))))(X)
    batched = xs.make_jaxpr(xs.vmap(xs.grad(nested_loss), (None, 0)))(W, np.stack([X, X]))
    for made in (second, batched):
        program = describe_program(made)
        assert all(q.source is not None for q in program.walk())
        assert {q.role for q in program.walk()} >= {"forward", "backward"}


def test_equations_traced_from_this_file_all_have_a_source():
    def everything(x):
        y = arithmetic.add(arithmetic.mul(x, 2.0), exponentials.exp(x))
        z = xs.vmap(lambda v: trigonometry.cos(v))(y)
        return xs.jit(lambda q: tangent_arithmetic.neg(q))(z), shapes.full((2,), np.float32(0))

    for transform in (lambda f: f, xs.jit, xs.vmap):
        program = describe_program(xs.make_jaxpr(transform(everything))(W))
        assert program.equations
        for equation in program.walk():
            assert equation.source is not None
            assert equation.source.file == __file__


def test_a_body_that_is_called_twice_points_each_time_at_its_own_forward_call():
    program = describe_program(xs.make_jaxpr(xs.grad(nested_loss, 1))(W, X))
    calls = [q for q in program.equations if q.operation == "jit"]
    assert [q.role for q in calls] == ["forward", "forward", "backward", "backward"]
    first, second, back_second, back_first = calls
    for forward, backward in ((first, back_first), (second, back_second)):
        assert backward.transposes == forward.path
        assert all(q.transposes.startswith(f"{forward.path}/") for q in by_path_of(backward))
