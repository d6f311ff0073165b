"""The doctor's table: each disease found in a program that has it and not in one that has not, by given times."""

import dataclasses
import json
import os
import re
from pathlib import Path

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.analysis.doctor import MAX_FINDINGS, RULES, Evidence, diagnose, diagnosis_text
from xlascope.analysis.doctor.rule import MIN_FINDING_SECONDS
from xlascope.records import Compiled, Finding, from_json, to_json

from . import diseases
from .diseases import PAIRS, Case, Pair, evidence_of, shape

NAMES = [f"{each.rule} {number}" for number, each in enumerate(PAIRS)]


def findings_of(evidence: Evidence) -> dict[str, Finding]:
    return {each.rule: each for each in diagnose(evidence).findings}


def text_of(evidence: Evidence) -> str:
    return diagnosis_text(diagnose(evidence), evidence)


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_a_sick_program_has_its_finding_and_no_other(pair: Pair) -> None:
    evidence = evidence_of(pair.sick)
    text = text_of(evidence)
    assert list(findings_of(evidence)) == [pair.rule], text
    for words in pair.says:
        assert words in text, text


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_a_healthy_program_has_none(pair: Pair) -> None:
    evidence = evidence_of(pair.healthy)
    assert not findings_of(evidence), text_of(evidence)


def test_every_rule_has_its_programs() -> None:
    assert {each.rule for each in PAIRS} == {rule.name for rule in RULES}
    assert all(rule.threshold and rule.find.__doc__ for rule in RULES)


def test_the_page_has_the_table(root: Path) -> None:
    page = (root / "docs/doctor.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert re.search(rf"^\| {re.escape(rule.name)} \| .+ \| {re.escape(rule.threshold)} \|$", page, re.M), rule.name


@pytest.mark.parametrize(
    "pair", [each for each in PAIRS if each.sick.seconds and each.rule != "waits"], ids=lambda pair: pair.rule
)
def test_what_takes_no_time_is_no_finding(pair: Pair) -> None:
    short = dict.fromkeys(pair.sick.seconds, MIN_FINDING_SECONDS / 16)
    evidence = evidence_of(pair.sick._replace(seconds=short))
    assert not findings_of(evidence), text_of(evidence)


def test_numbers_add_up() -> None:
    (finding,) = findings_of(evidence_of(PAIRS[0].sick)).values()
    assert finding.seconds == pytest.approx(2e-3) and 0.99 < finding.share <= 1
    assert finding.equation == "0" and finding.source is not None and finding.source.file == diseases.__file__
    assert {each.name: each.value for each in finding.evidence}["operations now"] == 2 * 64**3 + 2 * 64**2


def test_a_diagnosis_survives_json() -> None:
    diagnosis = diagnose(evidence_of(PAIRS[0].sick))
    assert from_json(json.loads(json.dumps(to_json(diagnosis)))) == diagnosis


def many_diseases(x: xs.Array, a: xs.Array, v: xs.Array, labels: xs.Array) -> tuple[xs.Array, ...]:
    few = jnp.sort(x)[-3:]
    return few, (a @ a) @ v, xs.nn.one_hot(labels, 64) @ a


def test_at_most_three_the_largest_first() -> None:
    times = {"sort": 3e-3, "dot_general": 7e-3}  # three kernels sort
    case = Case(many_diseases, (shape(4096), shape(64, 64), shape(64), diseases.LABELS), times)
    evidence = evidence_of(case._replace(change=diseases.again(5, diseases.CHANGED, 10.0)))
    found = diagnose(evidence).findings
    assert len(found) == MAX_FINDINGS and [each.share for each in found] == sorted(
        (each.share for each in found), reverse=True
    )
    assert found[0].rule == "traced again"


def test_what_a_library_writes_in_one_call_is_not_the_users() -> None:
    text = "def choose(jnp, rows): return (jnp.arange(64)[::-1, None] == jnp.arange(64)).astype(rows.dtype) @ rows"
    for file, rules in ((f"{os.path.dirname(xs.__file__)}/choosing.py", set()), ("choosing.py", {"one-hot product"})):
        written = {}
        exec(compile(text, file, "exec"), written)
        case = Case(lambda a, choose=written["choose"]: choose(jnp, a), (shape(64, 64),), {"dot_general": 1e-3})
        assert findings_of(evidence_of(case)).keys() == rules, file
    evidence = evidence_of(Case(lambda x: jnp.percentile(x, 99.9), (shape(4096),), {"sort": 1e-3}))
    assert not findings_of(evidence), text_of(evidence)


def test_few_calls_are_not_worth_a_change() -> None:
    evidence = evidence_of(PAIRS[0].sick)
    assert evidence.executed is not None
    once = dataclasses.replace(evidence, executed=dataclasses.replace(evidence.executed, calls=3))
    assert findings_of(evidence) and not findings_of(once)


def test_what_differentiation_copies_is_not_the_users() -> None:
    function = xs.vmap(xs.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w))), in_axes=(None, 0))
    case = Case(
        function, (shape(32, 64), shape(8, 2, 32)), dict.fromkeys(("wrapped_copy", "wrapped_copy.1", "tanh"), 1e-3)
    )
    assert not findings_of(evidence_of(case)), text_of(evidence_of(case))


def test_a_librarys_function_is_not_the_users() -> None:
    evidence = evidence_of(Case(diseases.sine, (shape(64),), change=diseases.again(9, diseases.CHANGED)))
    source = next(each.source for each in evidence.traced.jaxpr.equations)
    lines = [dataclasses.replace(each, source=source) for each in evidence.traced.jaxpr.equations]
    jaxpr = dataclasses.replace(evidence.traced.jaxpr, equations=tuple(lines))
    called_there = dataclasses.replace(evidence.traced, jaxpr=jaxpr, call_site=source)
    assert findings_of(evidence) and not findings_of(dataclasses.replace(evidence, traced=called_there))


def test_without_times_nothing_is_said_of_them() -> None:
    evidence = dataclasses.replace(evidence_of(PAIRS[0].sick), executed=None)
    assert not findings_of(evidence)
    assert "no kernel's time is known" in text_of(evidence)


def test_a_rule_that_lacks_everything_finds_nothing() -> None:
    evidence = Evidence(evidence_of(PAIRS[0].sick).traced)
    assert [list(rule.find(evidence)) for rule in RULES] == [[]] * len(RULES)


def test_without_a_trace_there_is_no_evidence() -> None:
    records = [each for each in diseases.records_of(evidence_of(PAIRS[0].sick)) if isinstance(each, Compiled)]
    assert Evidence.of(records) is None
