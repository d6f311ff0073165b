"""The public names: one list a package, from which everything else follows."""

import ast
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import jedi
import pytest

_SPEC = importlib.util.spec_from_file_location("public_names", Path(__file__).parents[1] / "public_names.py")
public_names = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(public_names)

LISTED = [(package, name) for package in public_names.LAZY for name in public_names.listed(package)]


@pytest.mark.parametrize("package", public_names.LAZY)
def test_every_listed_name_is_there_and_explains_itself(package):
    module = importlib.import_module(package)
    names = public_names.listed(package)
    assert sorted(module.__all__) == sorted(names) and set(names) <= set(dir(module))
    for name in names:
        value = getattr(module, name)
        assert name in vars(module)  # the next use is an attribute's
        if inspect.isfunction(value) or (inspect.isclass(value) and value.__module__.startswith("xlascope")):
            assert value.__doc__, name


@pytest.mark.parametrize("package", public_names.LAZY)
def test_a_list_is_one_line_a_name(package):
    """What reads the lists at run time knows these forms and no others, and drops nothing."""
    stub = public_names.stub_of(package)
    names = []
    for node in ast.parse(stub.read_text()).body:
        match node:
            case ast.Expr() | ast.FunctionDef() | ast.AnnAssign():
                continue  # what is in the package's own file
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                continue
            case ast.ImportFrom(names=[ast.alias(name=there, asname=name)], level=level) if level:
                assert there == name, f"tools take {there} as {name} for private"
                names.append(name)
            case ast.ImportFrom(module="typing"):
                continue
            case _:
                pytest.fail(f"{stub.name}:{node.lineno} is of no form that is read at run time")
    assert len(names) == len(set(names)) and set(names) <= set(public_names.listed(package))


def test_no_module_has_the_name_of_a_function():
    """Loading it would set the package's attribute of that name."""
    for package, name in LISTED:
        home = public_names.listed(package)[name]
        assert not home.name or importlib.util.find_spec(f"{package}.{name}") is None, f"{package}.{name}"


@pytest.mark.parametrize("path", public_names.WRITTEN, ids=lambda path: path.name)
def test_what_follows_from_the_lists_is_up_to_date(path):
    found = public_names.missing(path)
    if found:
        pytest.fail("\n".join([f"run `make names`: {path.name}", *found]), pytrace=False)


def test_an_operation_with_a_function_of_its_name_is_in_lax():
    """The function may stand in another file than the class, and is listed by hand then."""
    listed, linalg = public_names.listed("xlascope.lax"), public_names.names_in("xlascope.lax.linalg")
    for name, operation in public_names.primitives.operations_by_name().items():
        function = getattr(importlib.import_module(operation.__module__), name, None)
        known = linalg if operation.__module__.startswith(public_names.ELSEWHERE) else listed
        if inspect.isfunction(function) and name not in public_names.INTERNAL:
            assert name in known, f"{operation.__module__}.{name}: run `make names`"


@pytest.mark.parametrize(
    ("program", "file"),
    [
        ("import xlascope.numpy as jnp\njnp.arange", "numpy/ranges.py"),
        ("from xlascope import lax\nlax.tile", "lax/shaping.py"),
        ("from xlascope import lax\nlax.erf_inv", "operations/special.py"),
        ("from xlascope.lax import scan\nscan", "control"),
        ("import xlascope as xs\nxs.vmap", "api/vectorization.py"),
        ("import xlascope as xs\nxs.random.normal", "random/continuous.py"),
    ],
)
def test_jump_to_definition_arrives_at_the_function(program, file):
    name = re.split(r"\W", program)[-1]
    (found,) = jedi.Script(program).goto(2, len(program.splitlines()[1]), follow_imports=True)
    assert file in str(found.module_path) and found.description == f"def {name}", found


def test_an_unknown_name_is_an_attribute_error():
    for package in public_names.LAZY:
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
            importlib.import_module(package).no_such_name  # noqa: B018


def test_a_package_loads_what_is_asked_for(fresh_python):
    program = "import xlascope.numpy as jnp, sys; jnp.arange(3); print('xlascope.numpy.polynomials' in sys.modules)"
    assert fresh_python(program).strip() == "False"


def test_loading_a_module_applies_no_operation(fresh_python):
    """Names may be asked for first while a function is traced: what a module does at import must not be recorded."""
    program = """
import importlib, pkgutil
import xlascope
from xlascope import jit
from xlascope.trace.state import STATE

found = []

def every_name(x):
    for package in (xlascope, xlascope.numpy, xlascope.lax, xlascope.nn, xlascope.random):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    return x

print(len(xlascope.make_jaxpr(every_name)(1.0).eqns))
"""
    assert fresh_python(program).strip() == "0"
