"""Jaxprs as text: jax's, line by line, up to the names of variables and spaces at the ends of lines."""

import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from tests.changes_of_jax import made

import xlascope as xs
from xlascope.operations import shapes

PROGRAMS = Path(__file__).with_name("programs.py")
_spec = importlib.util.spec_from_file_location("ir_programs", PROGRAMS)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

_NAME = r"(?<![\w=.<\[-])(?!(?:in|or|eq|ne|lt|gt|le|ge)\b)([a-z]|[b-d][a-z])(?=(?:[\s,);:]|$)(?!=))"
_TOKEN = re.compile(rf"(?P<open>{{ lambda)|(?P<close>\}})|{_NAME}(?P<binds>:(?=[a-z]+\d*\[))?", re.MULTILINE)


def plain(text: str) -> str:
    """A jaxpr with its variables numbered in the order in which they are bound, each program having its own."""
    numbers = itertools.count()
    scopes: list[dict[str, str]] = []

    def replace(match: re.Match[str]) -> str:
        if match["open"]:
            scopes.append({})
        elif match["close"]:
            scopes.pop()
        elif match["binds"]:
            assert match[3] not in scopes[-1], f"{match[3]} is bound twice in {text}"
            scopes[-1][match[3]] = f"v{next(numbers)}"
            return scopes[-1][match[3]] + ":"
        elif scopes:
            return scopes[-1][match[3]]
        return match[0]

    return "\n".join(line.rstrip() for line in _TOKEN.sub(replace, text).split("\n"))


_JAX_SAYS = re.compile(r"^ *ft_(?:in|out)=.*\n|(?<=reduce_m(?:ax|in)\[axes=)(\(.*?\)) out_sharding=None", re.MULTILINE)
_WE_SAY = re.compile(r"^ *num_(?:carry|consts)=\d+\n", re.MULTILINE)


def as_both_say(texts):
    """Jaxprs without the parameters that jax renamed: only where it has, so that everything is compared elsewhere."""
    if not made("parameters of jaxprs"):
        return texts
    return {name: _WE_SAY.sub("", _JAX_SAYS.sub(lambda match: match[1] or "", text)) for name, text in texts.items()}


@pytest.fixture(scope="module")
def theirs(jax_says):
    return as_both_say(jax_says(PROGRAMS, "texts"))


@pytest.fixture(scope="module")
def ours():
    return as_both_say(programs.texts(xs))


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_programs_print_like_those_of_jax(name, ours, theirs):
    assert plain(ours[name]) == plain(theirs[name])


#: The rows of CONTROL by what they need, for as long as that is not there.
_NEEDS = {name: getattr(xs, name, None) for name in ("custom_jvp", "custom_vjp", "checkpoint")}
_CONTROL = [
    name
    for name, (text, *_) in programs.CONTROL.items()
    if hasattr(xs.lax, "scan") and all(there for need, there in _NEEDS.items() if need in text)
]


@pytest.fixture(scope="module")
def their_control(jax_says):
    return as_both_say(jax_says(PROGRAMS, "control_texts"))


@pytest.fixture(scope="module")
def our_control():
    return as_both_say(programs.control_texts(xs))


@pytest.mark.parametrize("name", _CONTROL)
def test_programs_with_control_flow_print_like_those_of_jax(name, our_control, their_control):
    assert plain(our_control[name]) == plain(their_control[name])


def test_the_comparison_sees_which_variable_is_which():
    assert plain("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }") == plain(
        "{ lambda ; q:f32[]. let r:f32[] = sin q in (r,) }"
    )
    assert plain("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }") != plain(
        "{ lambda ; a:f32[]. let b:f32[] = sin a in (a,) }"
    )


def test_a_program_as_it_is_printed(ours):
    assert ours["nested twice"] == (
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[3] = jit[\n"
        "      name=<lambda>\n"
        "      jaxpr={ lambda ; c:f32[3]. let\n"
        "          d:f32[3] = sin c\n"
        "          e:f32[3] = jit[\n"
        "            name=<lambda>\n"
        "            jaxpr={ lambda ; f:f32[3]. let g:f32[3] = neg f in (g,) }\n"
        "          ] d\n"
        "        in (e,) }\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_functions_of_one_name_are_told_apart(ours):
    def multiplied(factor):
        return xs.jit(programs.named("h", lambda x: x * factor))

    def program(x):
        for h in (multiplied(1.0), multiplied(2.0)):
            x = h(h(x))
        return x

    assert str(xs.make_jaxpr(program)(1.0)) == (
        "let h = { lambda ; a:f32[]. let b:f32[] = mul a 1.0:f32[] in (b,) } in\n"
        "let h1 = { lambda ; c:f32[]. let d:f32[] = mul c 2.0:f32[] in (d,) } in\n"
        "{ lambda ; e:f32[]. let\n"
        "    f:f32[] = jit[name=h jaxpr=h] e\n"
        "    g:f32[] = jit[name=h jaxpr=h] f\n"
        "    i:f32[] = jit[name=h jaxpr=h1] g\n"
        "    j:f32[] = jit[name=h jaxpr=h1] i\n"
        "  in (j,) }"
    )


def test_an_equation_prints_as_in_its_program():
    program = xs.make_jaxpr(lambda x: shapes.reshape(x * 2.0, (1, 3)))(np.zeros(3, np.float32))
    first, second = program.eqns
    assert str(first) == "a:f32[3] = mul b 2.0:f32[]"
    assert str(second) == "a:f32[1,3] = reshape[dimensions=None new_sizes=(1, 3) sharding=None] b"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.5), "0.5"),
        (np.float32(0.1), "0.10000000149011612"),
        (np.int32(-3), "-3"),
        (np.bool_(True), "True"),
        (np.float32(np.inf), "inf"),
        (np.float32(np.nan), "nan"),
        (np.complex64(1 + 2j), "(1+2j)"),
    ],
)
def test_literals_are_written_with_all_digits(value, text):
    program = xs.make_jaxpr(lambda x: x == value)(value)
    assert f" = eq a {text}:" in str(program)


def test_a_program_of_many_shared_programs_prints_in_time_that_grows_with_it():
    """Each level calls the next twice: written out it would have 2**40 equations."""
    function = xs.jit(lambda x: x * 2.0)
    for _ in range(40):
        function = xs.jit(lambda x, inner=function: inner(inner(x)))
    assert len(str(xs.make_jaxpr(function)(1.0)).split("\n")) < 300
