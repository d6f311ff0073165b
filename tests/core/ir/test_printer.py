"""Jaxprs as text: like jax's, up to what is listed in :func:`plain`."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
from xlascope.operations import arithmetic, elementwise, indexing, linear_algebra, reductions, shapes

PROGRAMS = Path(__file__).with_name("programs.py")
_spec = importlib.util.spec_from_file_location("ir_programs", PROGRAMS)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)


class Operations:
    """Our operations under the names of jax.lax, without what lax does before it binds them."""

    def __getattr__(self, name):
        modules = (elementwise, arithmetic, reductions, shapes, indexing, linear_algebra)
        return shapes.slice_ if name == "slice" else next(getattr(m, name) for m in modules if hasattr(m, name))


@pytest.fixture(scope="module")
def ours():
    return programs.texts(xs, Operations())


@pytest.fixture(scope="module")
def theirs(jax_says):
    return jax_says(PROGRAMS, "texts")


def plain(text: str) -> str:
    """A jaxpr without the differences that we want: we

    - write each equation on a line of its own, jax joins short programs into one line;
    - leave out parameters that are None, and order the others as the operation declares them, not by the alphabet;
    - write dimension numbers as tuples throughout;
    - name variables once in the whole program, jax anew in each body.
    """
    text = re.sub(r"\s*\n\s*(?!\s*in \()", "; ", text).replace("let;", "let").replace("[; ", "[").replace("; ]", "]")
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?\b\w+=None\b", "", text).replace("[ ", "[")
    while (
        shorter := re.sub(r"\((\[[^()]*\]), (\[[^()]*\])\)", lambda m: m[0].replace("[", "(").replace("]", ")"), text)
    ) != text:
        text = shorter
    text = re.sub(r"\((\d+)\)", r"(\1,)", text)
    text = re.sub(r"\[((?:\w+=(?:\([^=]*\)|[^\s\]]+)[ ;]*)+)\]", _sorted, text)
    if "jaxpr=" in text:
        text = re.sub(r"\b[a-z]{1,2}(?=:[a-z]|[ ,;)])", "_", text)
    return text.replace(";", "")


def _sorted(match: re.Match[str]) -> str:
    return "[" + " ".join(sorted(re.findall(r"\w+=(?:\([^=]*\)(?= |$)|\S+)", match[1]))) + "]"


@pytest.mark.parametrize("name", [name for name in programs.PROGRAMS if name != "dynamic"])
def test_programs_print_like_those_of_jax(name, ours, theirs):
    assert plain(ours[name]) == plain(theirs[name])


def test_a_program_as_it_is_printed(ours):
    assert ours["nested twice"] == (
        "{ lambda ; a:f32[3]. let\n"
        "    g:f32[3] = jit[\n"
        "      name=<lambda>\n"
        "      jaxpr={ lambda ; b:f32[3]. let\n"
        "          c:f32[3] = sin b\n"
        "          f:f32[3] = jit[\n"
        "            name=<lambda>\n"
        "            jaxpr={ lambda ; d:f32[3]. let\n"
        "                e:f32[3] = neg d\n"
        "              in (e,) }\n"
        "          ] c\n"
        "        in (f,) }\n"
        "    ] a\n"
        "  in (g,) }"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float32(1e-8), "1e-08"),
        (np.int32(-3), "-3"),
        (np.bool_(True), "True"),
        (np.float32(np.inf), "inf"),
        (np.float32(np.nan), "nan"),
        (np.complex64(1 + 2j), "(1+2j)"),
    ],
)
def test_literals_are_written_as_a_person_would(value, text):
    program = xs.make_jaxpr(lambda x: arithmetic.eq(x, value))(value)
    assert f" = eq a {text}:" in str(program)


def test_long_equations_are_broken_and_short_ones_are_not():
    x = np.zeros((2, 3, 4, 5), np.float32)
    text = str(xs.make_jaxpr(lambda x: shapes.pad(x, np.float32(0), [(1, 2, 3)] * 4))(x))
    assert max(map(len, text.split("\n"))) <= 110
