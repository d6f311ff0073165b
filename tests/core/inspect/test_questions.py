"""From a call to records, text and JSON, in a script."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.inspect import Inspection
from xlascope.xla.profiling.profiler_windows import Window


def kinds(found: Inspection) -> list[str]:
    return [type(each).__name__ for each in found.records]


def test_explore_shows_the_program_of_a_jitted_function_itself(step: Any) -> None:
    found = inspect.explore(step.update, *step.arguments)
    (traced,) = found.records
    assert isinstance(traced, records.Traced)
    assert (
        str(found)
        == repr(found)
        == traced.text
        == str(xs.make_jaxpr(lambda *a: step.update(*a))(*step.arguments).eqns[0].params["jaxpr"])
    )
    assert {"forward", "backward"} <= {each.role for each in traced.jaxpr.walk()}
    assert traced.jaxpr.variables[traced.jaxpr.inputs[0]].label == "params[0][0]"


def test_every_equation_of_a_training_step_has_its_line(step: Any) -> None:
    (traced,) = inspect.explore(step.update, *step.arguments).records
    assert {Path(each.source.file).name for each in traced.jaxpr.walk() if each.source} == {"conftest.py"}
    assert all(each.source for each in traced.jaxpr.walk())
    assert [each.title for each in traced.sources] == ["conftest.py"]


def test_explore_takes_plain_functions_and_shapes() -> None:
    found = inspect.explore(lambda x: jnp.sin(x) * 2.0, xs.ShapeDtypeStruct((3,), "float32"))
    assert "sin" in str(found) and "f32[3]" in str(found)


def test_explore_runs_and_compiles_nothing(step: Any) -> None:
    seen: list[Any] = []
    with records.watch(seen.append):
        inspect.explore(step.update, *step.arguments)
    assert {type(each).__name__ for each in seen} == {"Started", "Traced"}


def test_asking_twice_traces_and_compiles_once(step: Any) -> None:
    first = inspect.fusions(step.update, *step.arguments)
    seen: list[Any] = []
    with records.watch(seen.append):
        again = inspect.fusions(step.update, *step.arguments)
        step.update(*step.arguments)
    assert [type(each).__name__ for each in seen] == ["Started"] and seen[0].stage == "run"
    assert kinds(first) == ["Traced", "Lowered", "Compiled"] and kinds(again) == ["Traced", "Compiled"]
    assert first.records[2].kernels == again.records[1].kernels
    assert first.records[2].seconds == again.records[1].seconds > 0
    assert first.records[0].seconds == pytest.approx(again.records[0].seconds)


def test_fusions_uses_what_the_function_has_compiled(step: Any) -> None:
    step.update(*step.arguments)
    found = inspect.fusions(step.update, *step.arguments)
    assert kinds(found) == ["Traced", "Compiled"]


def test_each_fused_equation_is_one_of_the_program(step: Any) -> None:
    traced, _, compiled = inspect.fusions(step.update, *step.arguments).records
    paths = {each.path for each in traced.jaxpr.walk()}
    inside = [path for kernel in compiled.kernels for path in kernel.equations]
    assert inside and set(inside) <= paths


def test_the_table_of_fusions(step: Any) -> None:
    found = inspect.fusions(step.update, *step.arguments)
    head, columns, *rows = str(found).splitlines()
    assert head.startswith("update: ") and "compiled in" in head
    assert columns.split() == ["kernel", "kind", "equations", "saved", "operations"]
    assert len(found.records[2].kernels) <= len(rows)
    assert "XLA's estimate" in rows[-1]


def test_timings_are_measured(step: Any) -> None:
    found = inspect.timings(step.update, *step.arguments)
    traced, _, compiled, run, ceilings = found.records
    assert isinstance(ceilings, records.Ceilings) and ceilings.device == run.devices[0].device
    assert 1e8 < ceilings.flops < 1e16 and 1e8 < ceilings.bytes_per_second < 1e14
    assert isinstance(run, records.Executed) and run.program == compiled.program == traced.program
    assert 0 < run.observed_calls <= 4 * 200 and run.calls > 0  # windows of calls that are not those which are timed
    assert run.step > 0 and run.seconds > 0 and run.window > 0
    (device,) = run.devices
    assert {each.kernel for each in device.kernels} == {each.name for each in compiled.kernels}
    assert 0 < device.busy <= run.window
    assert device.spans and all(span.duration >= 0 for span in device.spans)


def test_timings_say_line_unit_source_and_share(step: Any) -> None:
    text = str(inspect.timings(step.update, *step.arguments))
    share = "% of the kernels' time has an equation"
    for said in (
        "per call, 10th to 90th percentile ",
        "whole calls",
        "bound by",
        "conftest.py:",
        share,
        "measured here",
        "roofline estimates",
    ):
        assert said in text


def test_timings_leave_donated_arguments_alone(donating: Any) -> None:
    inspect.timings(donating.update, *donating.arguments)
    assert np.isfinite(np.asarray(donating.params[0][0])).all()


def test_timings_wait_for_a_window_that_is_open(step: Any) -> None:
    with Window(), pytest.raises(RuntimeError, match="open already"):
        inspect.timings(step.update, *step.arguments)
    assert inspect.timings(step.update, *step.arguments).records


def test_a_program_without_kernels_has_no_times() -> None:
    text = str(inspect.timings(lambda x: x, jnp.ones(3)))
    assert "0 equations" in text


def test_json_and_file_hold_the_same_records(step: Any, tmp_path: Path) -> None:
    found = inspect.timings(step.update, *step.arguments)
    found.save(tmp_path / "step.json")
    assert json.loads((tmp_path / "step.json").read_text()) == json.loads(json.dumps(found.to_json()))
    assert records.load(tmp_path / "step.json") == found.records


def test_jaxpr_is_text_even_where_there_are_pictures(step: Any) -> None:
    found = inspect.jaxpr(step.update, *step.arguments)
    assert str(found).startswith("{ lambda ;") and found.question == "jaxpr"


def test_a_renderer_draws_inspections_while_it_is_registered() -> None:
    found = inspect.explore(lambda x: x * 2.0, 1.0)
    before = inspect.register_renderer(lambda inspection: ({"text/html": inspection.question}, {}))
    try:
        assert found._repr_mimebundle_() == ({"text/html": "explore"}, {})
    finally:
        assert inspect.register_renderer(before) is not None
    assert found._repr_mimebundle_() == ({"text/plain": found.text}, {})


def test_errors_of_tracing_come_through() -> None:
    with pytest.raises(TypeError, match="can only return"):
        inspect.explore(lambda x: x, "no array")


def test_what_wraps_a_jitted_function_is_not_taken_for_it(step: Any) -> None:
    def twice(*args: Any) -> Any:
        return step.update(step.update(*args), *args[1:])

    twice.__dict__.update(step.update.__dict__)  # as functools.wraps does
    (traced,) = inspect.explore(twice, *step.arguments).records
    assert [each.name for each in traced.jaxpr.equations] == ["update", "update"]
