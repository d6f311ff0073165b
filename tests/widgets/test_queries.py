"""Questions from the browser: answered beside, with progress, cancelled, refused; and as a panel tells them."""

import dataclasses
import json
import threading
import time

import pytest

from xlascope.records import Explained as Decisions
from xlascope.records import FusionDecision, Pass, Passes
from xlascope_widgets import Panel, wire
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.queries import MAX_RUNNING_QUERIES, MAX_STORED_ANSWERS, PanelQueries
from xlascope_widgets.wire_compiler import MAX_DIFF_CHARS, encode_findings

HLO = """HloModule m
ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %sin = f32[4]{0} sine(%x), metadata={op_name="jit(f)/e0/sin"}
  ROOT %cos = f32[4]{0} cosine(%sin), metadata={op_name="jit(f)/e1/cos"}
}"""


def explained(program=1, target="cpu", decisions=1):
    refused = FusionDecision(0, "fusion", "refused", "sin", "cos", "", "no", "It was refused.", 2e-6, 1e-6)
    return Decisions(program, "f", 0.0, 1.5, target, "jit_f", HLO, (refused,) * decisions, True, "")


class Browser:
    """What a browser sees of a panel's questions."""

    def __init__(self, answer):
        self.states, self.found, self.messages = {}, {}, 0
        self.asks = PanelQueries(answer, self.tell)

    def tell(self, states, found):
        json.dumps([states, found])
        self.states = states
        self.found = self.found if found is None else found
        self.messages += 1

    def ask(self, number="a", **question):
        self.asks.receive({"ask": {"id": number, "question": "why", "program": 1, **question}})

    def wait(self, number, *states, seconds=10):
        give_up = time.monotonic() + seconds
        while self.states.get(number, {}).get("state") not in states:
            assert time.monotonic() < give_up, self.states
            time.sleep(0.005)
        return self.states[number]


def test_an_answer_is_records_in_the_browsers_form():
    browser = Browser(lambda question, reply: ([explained()], ""))
    browser.ask()
    assert browser.wait("a", "done")["question"]["question"] == "why"
    found = browser.found["a"]
    assert found["program"] == 1
    (one,) = found["explained"]
    assert one["nodes"]["sin"] == ["sine", ["0"], 16]
    (step,) = one["steps"]
    assert [one["texts"][i] for i in (step[0], *step[2:7])] == ["fusion", "sin", "cos", "", "no", "It was refused."]
    assert (step[1], step[7:]) == (0, [2e-6, 1e-6])


def test_it_is_answered_on_another_thread_and_tells_its_progress():
    go, threads = threading.Event(), []

    def answer(question, reply):
        threads.append(threading.current_thread())
        reply.progress(0.25, "compiling")
        assert go.wait(10)
        return (), "text"

    browser = Browser(answer)
    browser.ask()
    browser.wait("a", "working")
    go.set()
    browser.wait("a", "done")
    assert browser.found["a"]["text"] == "text"
    assert threads[0] is not threading.current_thread() and threads[0].daemon


def test_progress_is_not_told_more_than_ten_times_a_second():
    def answer(question, reply):
        for i in range(1000):
            reply.progress(i / 1000, str(i))
        return (), ""

    browser = Browser(answer)
    browser.ask()
    browser.wait("a", "done")
    assert browser.messages < 10


def test_what_an_answer_raises_is_told():
    def answer(question, reply):
        raise LookupError("this program is gone")

    browser = Browser(answer)
    browser.ask()
    assert browser.wait("a", "failed")["message"] == "this program is gone"
    assert browser.found == {}


def test_cancel_reaches_the_work():
    stopped = threading.Event()

    def answer(question, reply):
        reply.on_cancel(stopped.set)
        assert stopped.wait(10)
        return [explained()], ""

    browser = Browser(answer)
    browser.ask()
    browser.wait("a", "working")
    browser.asks.receive({"cancel": "a"})
    browser.wait("a", "cancelled")
    assert browser.found == {}
    browser.asks.receive({"cancel": "a"})  # too late, and harmless


def test_few_are_answered_at_a_time_and_not_all_are_kept():
    go = threading.Event()
    browser = Browser(lambda question, reply: go.wait(10) and ((), ""))
    for i in range(MAX_RUNNING_QUERIES + 1):
        browser.ask(str(i))
    refused = browser.wait(str(MAX_RUNNING_QUERIES), "failed")
    assert "already" in refused["message"]
    go.set()
    for i in range(MAX_RUNNING_QUERIES):
        browser.wait(str(i), "done")
    for i in range(100, 100 + MAX_STORED_ANSWERS + 5):
        browser.ask(str(i))
        browser.wait(str(i), "done")
    assert len(browser.states) == MAX_STORED_ANSWERS and len(browser.found) <= MAX_STORED_ANSWERS


@pytest.mark.parametrize(
    "message",
    [
        None, 3, "ask", [], {}, {"ask": None}, {"ask": "why"}, {"ask": {"id": 3, "question": "why"}},
        {"ask": {"id": "a"}}, {"ask": {"id": "x" * 100, "question": "why"}}, {"cancel": "nobody"}, {"cancel": 7},
    ],
)  # fmt: skip
def test_what_is_no_question_is_ignored(message):
    browser = Browser(lambda question, reply: pytest.fail("nobody asked"))
    browser.asks.receive(message)
    assert browser.states == {} and browser.messages == 0


def test_a_panel_answers_messages_of_the_browser():
    class Answer:
        questions, targets, install_hints = ["why"], ["gpu:h100"], {"gpu:h100": "pip install it"}
        arrays = None

        def __call__(self, question, reply):
            return [explained(question["program"])], ""

    panel = Panel(answer=Answer())
    assert (panel.questions, panel.targets) == (["share", "why"], ["gpu:h100"])
    assert panel.missing == {"gpu:h100": "pip install it"}
    panel._handle_custom_msg({"ask": {"id": "a", "question": "why", "program": 7}}, [])
    give_up = time.monotonic() + 10
    while panel.answers.get("a", {}).get("state") != "done":
        assert time.monotonic() < give_up
        time.sleep(0.01)
    assert panel.findings["a"]["program"] == 7
    panel.close()


def test_a_panel_without_answers_takes_no_questions():
    panel = Panel()
    panel._handle_custom_msg({"ask": {"id": "a", "question": "why", "program": 7}}, [])
    assert panel.questions == ["share"] and panel.answers == {}
    panel.close()


def test_records_of_answers_are_part_of_their_program(samples):
    here = samples.compiled()
    there = dataclasses.replace(here, target="gpu:h100", platform="gpu", estimated_seconds=1e-5, estimated_by="XLA's")
    passes = Passes(
        1, "update", 0.0, 1.0, "cpu", "m", "", (Pass(0, "cse", "p", 5, 0, 1, 0, "-x\n" * MAX_DIFF_CHARS),), True
    )
    program = ProgramStore.of([samples.traced(), here, there, explained(), passes]).main
    assert program.compiled is here
    heavy = wire.encode_heavy(program)
    assert heavy["platform"] == "cpu" and heavy["found"] == 3
    assert heavy["targets"]["gpu:h100"]["by"] == "XLA's"
    (sent,) = heavy["passes"][0]["passes"]
    assert len(sent["diff"]) == MAX_DIFF_CHARS and sent["cut"] == 2 * MAX_DIFF_CHARS


def test_texts_of_decisions_are_sent_once():
    few, many = (len(json.dumps(encode_findings([explained(decisions=n)]))) for n in (10, 1010))
    assert (many - few) / 1000 < 50


def test_damaged_hlo_leaves_the_decisions():
    broken = dataclasses.replace(explained(), before=HLO[:-30])
    (one,) = encode_findings([broken])["explained"]
    assert one["nodes"] == {} and len(one["steps"]) == 1
