"""The array API standard, 2024.12, holds where it does in jax; where it does not stands in tables, with the reason."""

from __future__ import annotations

import inspect
import itertools
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

HERE = Path(__file__).parent
SPECIAL, CALLS = HERE / "special.py", HERE / "calls.py"


@pytest.fixture(scope="module")
def tables(programs) -> dict[str, ModuleType]:
    return {name: programs(HERE / f"{name}.py") for name in ("functions", "promotion", "special", "known", "calls")}


# Names and parameters -----------------------------------------------------------------------------------------------

#: Functions with other parameters than the standard's, as in jax: what a call by the standard meets, and why.
OTHERWISE = {
    "arange": "step=None, not 1",
    "astype": "copy=False, not True",  # arrays cannot be changed, so nobody sees whether one was copied
    "expand_dims": "missing a required argument: 'axis'",
    **dict.fromkeys(["argmax", "argmin"], "keepdims=None, not False"),
    **dict.fromkeys(["std", "var"], "correction=None, not 0.0"),  # ddof, which is 0, says it otherwise
    **dict.fromkeys(
        [f"fft.{i}{r}fft{n}" for i in ("", "i") for r in ("", "r") for n in ("", "n")],
        _NORM := "norm=None, not 'backward'",
    ),
    **dict.fromkeys(["fft.hfft", "fft.ihfft"], _NORM),
}


def _find(name: str) -> Any:
    found: Any = jnp
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _complaint(name: str, parameters: str) -> str:
    """What a caller by the standard meets otherwise, or nothing."""
    wanted = _declared_in_python(parameters)
    try:
        ours = inspect.signature(_find(name))
    except AttributeError:
        return "missing"
    by_place = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name: None for p in wanted if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    try:
        ours.bind(*(None for _ in by_place))
        required = [None for p in by_place if p.kind is p.POSITIONAL_ONLY]
        ours.bind(*required, **by_name)
        ours.bind(*(None for p in by_place if p.default is p.empty))
    except TypeError as error:
        return str(error)
    different = [
        f"{p.name}={ours.parameters[p.name].default!r}, not {p.default!r}"
        for p in wanted
        if p.name in by_name and p.default is not p.empty and ours.parameters[p.name].default != p.default
    ]
    return ", ".join(different)


def _declared_in_python(parameters: str) -> list[inspect.Parameter]:
    scope: dict[str, Any] = {}
    exec(f"def f({parameters}): ...", scope)
    return list(inspect.signature(scope["f"]).parameters.values())


def test_functions_are_there_and_take_what_the_standard_says(tables) -> None:
    complaints = {name: _complaint(name, text) for name, text in tables["functions"].signatures().items()}
    found = {name: text for name, text in complaints.items() if text}
    assert len(complaints) == 171
    assert found == OTHERWISE


def test_constants_and_dtypes_are_there(tables) -> None:
    for name, value in tables["functions"].CONSTANTS.items():
        assert getattr(jnp, name) is value or np.array_equal(getattr(jnp, name), value, equal_nan=True), name
    for name in tables["functions"].DTYPES:
        assert np.dtype(getattr(jnp, name)).name == name


# Arrays -------------------------------------------------------------------------------------------------------------


def test_arrays_have_every_attribute_and_method(tables) -> None:
    x, seen = jnp.ones((2, 3)), []
    names = [*tables["functions"].ATTRIBUTES, *tables["functions"].METHODS]
    assert [name for name in names if not hasattr(x, name)] == []
    xs.jit(lambda y: seen.append([n for n in names if "dlpack" not in n and n != "device" and not hasattr(y, n)]) or y)(
        x
    )
    assert seen == [[]]


def test_an_array_names_its_namespace() -> None:
    x = jnp.ones(2)
    assert x.__array_namespace__() is jnp and x.__array_namespace__(api_version="2024.12") is jnp
    assert jnp.__array_api_version__ == "2024.12"
    assert xs.jit(lambda y: y.__array_namespace__().sin(y))(x).shape == (2,)
    for version in ("2021.12", "2030.12", 3):
        with pytest.raises(ValueError, match="api_version"):
            x.__array_namespace__(api_version=version)


def test_arrays_go_to_devices() -> None:
    x, device = jnp.ones(2), xs.devices()[0]
    assert x.device == device and x.to_device(device).committed and x.to_device(device).device == device
    assert x.to_device(x.sharding).device == device and x.to_device(None) is x
    assert xs.jit(lambda y: y.to_device(device) + 1)(x).shape == (2,)
    for wrong in ("cpu", 3, [device]):
        for call in (x.to_device, lambda d: jnp.asarray(1.0, device=d), lambda d: xs.device_put(1.0, d)):
            with pytest.raises(ValueError, match=r"device is a device|has to be a prefix"):
                call(wrong)
    with pytest.raises(NotImplementedError, match="stream"):
        x.to_device(device, stream=1)


def test_matrices_are_turned() -> None:
    x = jnp.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(x.mT, np.asarray(x).swapaxes(1, 2))
    np.testing.assert_array_equal(x[0].T, np.asarray(x)[0].T)
    with pytest.raises(ValueError, match="axes"):
        x[0, 0].mT  # noqa: B018


def test_arrays_are_converted_to_pythons_numbers() -> None:
    for value in (True, 3, -0.0, float("inf"), float("nan"), 1.5):
        x = jnp.asarray(value)
        assert bool(x) is bool(value)
        np.testing.assert_equal(float(x), float(value))
        np.testing.assert_equal(complex(x).real, float(value))
    assert int(jnp.asarray(-2.5)) == -2 and complex(jnp.asarray(1 + 2j)) == 1 + 2j and [0, 1][jnp.asarray(1)] == 1
    assert bool(jnp.asarray(1j)) and not bool(jnp.asarray(0j))
    for call in (float, int):
        with pytest.raises(TypeError):
            call(jnp.asarray(1j))
    with pytest.raises(OverflowError):
        int(jnp.asarray(float("inf")))
    with pytest.raises(ValueError):
        int(jnp.asarray(float("nan")))
    with pytest.raises(TypeError):
        [0, 1][jnp.asarray(1.0)]


# What a library tells of itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
def test_the_namespace_tells_of_itself(wide: bool, tables) -> None:
    with xs.enable_x64(wide):
        info = jnp.__array_namespace_info__()
        assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}
        assert info.default_device() in info.devices() and xs.devices()[0] in info.devices()
        kinds = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}
        for device in info.devices():
            defaults = info.default_dtypes(device=device)
            assert defaults == {kind: jnp.asarray(one(1)).dtype for kind, one in kinds.items()}
            every = info.dtypes(device=device)
            assert set(every) == {d for d in tables["functions"].DTYPES if wide or d not in _WIDE}
            assert all(jnp.zeros(1, dtype).dtype == np.dtype(name) for name, dtype in every.items())
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"):
            assert info.dtypes(kind=kind) == {n: d for n, d in every.items() if jnp.isdtype(d, kind)}
        assert set(info.dtypes(kind=("bool", "complex floating"))) == {n for n in every if n[0] in "bc"}


_WIDE = ("int64", "uint64", "float64", "complex128")


def test_what_the_namespace_does_not_know_is_said() -> None:
    info = jnp.__array_namespace_info__()
    for kind in ("floating", 3, ("bool", "short"), []):
        with pytest.raises(ValueError, match="kind"):
            info.dtypes(kind=kind)
    with pytest.raises(ValueError, match="device"):
        info.default_dtypes(device="gpu")


# Dtypes that meet ----------------------------------------------------------------------------------------------------


def test_dtypes_meet_as_the_standard_says(tables) -> None:
    with xs.enable_x64(True):
        for (left, right), wanted in tables["promotion"].table().items():
            x, y = (xs.ShapeDtypeStruct((2,), name) for name in (left, right))
            assert jnp.result_type(left, right) == wanted == jnp.promote_types(left, right)
            for function in (jnp.add, jnp.where) if wanted != "bool" else (jnp.logical_and,):
                operands = (x, y) if function is not jnp.where else (xs.ShapeDtypeStruct((2,), "bool"), x, y)
                assert xs.eval_shape(function, *operands).dtype == wanted, (function, left, right)


def test_scalars_give_way_as_the_standard_says(tables) -> None:
    with xs.enable_x64(True):
        for scalar, prefixes in tables["promotion"].SCALARS:
            names = [d for d in tables["functions"].DTYPES if d.startswith(tuple(prefixes.split()))]
            for name, place in itertools.product(names, (0, 1)):
                x = xs.ShapeDtypeStruct((2,), name)
                if name == "bool":
                    found = xs.eval_shape(lambda a, s=scalar, p=place: a & s if p else s & a, x)
                else:
                    found = xs.eval_shape(lambda a, s=scalar, p=place: a * s if p else s * a, x)
                assert found.dtype == name, (scalar, name)


# Calls --------------------------------------------------------------------------------------------------------------

#: What gives other dtypes than NumPy, as in jax, by what stands in the row, and why.
OTHER_TYPES = {
    "searchsorted": "places are counted in int32 also where 64 bits are on, as long as those suffice",
    "cumulative_prod": "products of small integers stay in their dtype, in which those of prod do not",
}


def _is_otherwise(row: str) -> bool:
    return any(f"xp.{name}(" in row for name in OTHER_TYPES)


@pytest.mark.parametrize(
    "dtypes", ["bool int8 uint32 float32 complex64", pytest.param(None, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_calls_give_the_dtypes_and_shapes_that_numpy_gives(dtypes: str | None, tables) -> None:
    calls = tables["calls"]
    with xs.enable_x64(True):
        found = calls.types(xs, dtypes)
    wanted = {row: calls.shapes_of(result) for row, result in calls.of_numpy(dtypes).items() if row in found}
    wrong = [f"{row}: {got}, numpy gives {wanted[row]}" for row, got in found.items() if got != wanted[row]]
    unexplained = [text for text in wrong if not _is_otherwise(text)]
    assert not unexplained, "\n".join(unexplained)
    assert all(any(name in row for row in wrong) for name in OTHER_TYPES), "no longer different"


@pytest.mark.slow
def test_calls_give_what_numpy_gives(tables) -> None:
    dtypes = "bool int8 uint32 int64 float32 complex128"
    wanted = tables["calls"].of_numpy(dtypes)
    with xs.enable_x64(True):
        found = tables["calls"].every(xs, dtypes)
    complaints = [f"{row}: {_difference(found[row], wanted[row])}" for row in wanted]
    complaints = [text for text in complaints if not text.endswith(": ") and not _is_otherwise(text)]
    assert not complaints, "\n".join(complaints)


def _difference(found: Any, wanted: Any) -> str:
    if isinstance(found, str) or isinstance(wanted, str):
        return "" if found is wanted else f"gave {found}, numpy gives {wanted}"
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return f"gave {found}, numpy gives {wanted}"
        return "; ".join(filter(None, map(_difference, found, wanted)))
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"gave {found.dtype}{found.shape}, numpy gives {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "biu":
        return "" if np.array_equal(found, wanted) else f"gave {found}, numpy gives {wanted}"
    precision = 1e-4 if wanted.dtype.itemsize // (2 if wanted.dtype.kind == "c" else 1) == 4 else 1e-9
    near = np.allclose(found, wanted, rtol=precision, atol=precision, equal_nan=True)
    return "" if near else f"gave {found}, numpy gives {wanted}"


# Special cases ------------------------------------------------------------------------------------------------------


def _known(tables: dict[str, ModuleType], kind: str) -> set[tuple[str, str]]:
    """The cases that come out otherwise, those of an operator as those of its function."""
    listed = getattr(tables["known"], kind)
    found = {(name, row) for name, (_, rows) in listed.items() for row in " ".join(rows.split()).split(" | ")}
    signs = {"floor_divide": "x1 // x2", "remainder": "x1 % x2"}
    return found | {(signs[name], row) for name, row in found if name in signs}


def _flat(failures: dict[str, dict[str, str]]) -> dict[tuple[str, str], str]:
    return {(name, row): example for name, rows in failures.items() for row, example in rows.items()}


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_special_cases_hold_but_for_those_that_are_known(kind: str, tables) -> None:
    found = _flat(getattr(tables["special"], f"{kind}_failures")(xs))
    known = _known(tables, kind.upper())
    assert not found.keys() - known, "\n".join(f"{k}: {found[k]}" for k in found.keys() - known)
    assert not known - found.keys(), f"these hold by now: {known - found.keys()}"


@pytest.mark.slow
def test_special_cases_that_fail_fail_in_jax_too(tables, jax_says) -> None:
    theirs = jax_says(SPECIAL, "every")
    for kind in ("real", "complex"):
        assert not _known(tables, kind.upper()) - _flat(theirs[kind]).keys()


@pytest.mark.slow
@pytest.mark.parametrize("jit", [False, True])
def test_special_cases_hold_in_double_precision_where_they_do_in_jax(jit: bool, tables, jax_says) -> None:
    theirs = jax_says(SPECIAL, "every_double", enable_x64="1")
    with xs.enable_x64(True):
        for kind in ("real", "complex"):
            found = _flat(getattr(tables["special"], f"{kind}_failures")(xs, "float64", jit))
            missing = found.keys() - _flat(theirs[kind]).keys()
            assert not missing, "\n".join(f"{k}: {found[k]}" for k in missing)
