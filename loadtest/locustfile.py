"""Locust users that call Trias over gRPC.

    locust -f loadtest/locustfile.py --host 127.0.0.1:8080 --questions examples/questions.txt            # Locust's page
    locust -f loadtest/locustfile.py --host … --questions … --headless --users 4 --run-time 1m           # gates decide

The times to the fast and to the deep answer of one `Ask` are events of their own. The exit code is 1 where a P95 gate
is broken or a call failed more often than its gate allows.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.experimental.gevent as grpc_gevent
from locust import User, between, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

from loadtest.gates import DEFAULT_GATES, Gate, GateError, Measured, check, load_gates
from loadtest.questions import read_questions
from loadtest.report import as_json, print_report
from loadtest.stages import StageTimes
from trias.v1 import (
    answer_service_pb2,
    answer_service_pb2_grpc,
    common_pb2,
    reasoner_service_pb2,
    reasoner_service_pb2_grpc,
    retriever_service_pb2,
    retriever_service_pb2_grpc,
    router_service_pb2,
    router_service_pb2_grpc,
)

grpc_gevent.init_gevent()

DEADLINE_S = 10.0


@dataclass(slots=True)
class _Run:
    """What one run asks, must keep, and saw."""

    questions: list[str] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    stages: StageTimes = field(default_factory=StageTimes)
    domain: str = ""
    json_out: str = ""


RUN = _Run()


@events.init_command_line_parser.add_listener
def _arguments(parser: LocustArgumentParser) -> None:
    parser.add_argument(
        "--questions", default="examples/questions.txt", help="file of questions, one a line or JSON lines"
    )
    parser.add_argument("--domain", default="", help="domain pack; the server's default where empty")
    parser.add_argument("--gates", default=str(DEFAULT_GATES), help="YAML file of P95 limits")
    parser.add_argument("--json-out", default="", help="write the figures here too, as JSON")


@events.init.add_listener
def _read_inputs(environment: Environment, **_: Any) -> None:
    options: Any = environment.parsed_options
    RUN.domain, RUN.json_out = options.domain, options.json_out
    try:
        RUN.questions = read_questions(Path(options.questions))
        RUN.gates = load_gates(Path(options.gates))
    except (ValueError, GateError) as error:
        sys.exit(f"error: {error}")


@events.quitting.add_listener
def _judge(environment: Environment, **_: Any) -> None:
    entries = [entry for entry in environment.stats.entries.values() if entry.num_requests]
    measured = {
        entry.name: Measured(
            event=entry.name,
            count=entry.num_requests,
            failures=entry.num_failures,
            p50_ms=entry.get_response_time_percentile(0.5),
            p95_ms=entry.get_response_time_percentile(0.95),
            p99_ms=entry.get_response_time_percentile(0.99),
        )
        for entry in entries
    }
    verdicts = check(RUN.gates, measured)
    print_report(list(measured.values()), verdicts, RUN.stages.rows())
    if RUN.json_out:
        figures = as_json(list(measured.values()), verdicts, RUN.stages.rows())
        Path(RUN.json_out).write_text(json.dumps(figures, indent=2), encoding="utf-8")
    environment.process_exit_code = 0 if measured and all(verdict.kept for verdict in verdicts) else 1


class _Caller(User):
    """One caller over a channel of its own."""

    abstract = True
    wait_time = between(0.0, 0.05)

    def on_start(self) -> None:
        """Open the channel."""
        if not self.host:
            sys.exit("error: --host HOST:PORT is needed: the address that `trias serve` printed")
        # A channel of its own, not one shared by all users: callers are different processes in life.
        self.channel = grpc.insecure_channel(self.host, options=[("grpc.use_local_subchannel_pool", 1)])

    def on_stop(self) -> None:
        """Close the channel."""
        self.channel.close()

    def question(self) -> str:
        """One of the questions, at random."""
        return random.choice(RUN.questions)  # noqa: S311 (no secret)

    def timed(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call and report it as an event; a gRPC error is a failed event and gives None."""
        started = time.perf_counter()
        try:
            response = call()
        except grpc.RpcError as error:
            self.report(name, started, exception=error)
            return None
        self.report(name, started, length=response.ByteSize())
        return response

    def report(self, name: str, started: float, *, length: int = 0, exception: Exception | None = None) -> None:
        """Report one event."""
        self.environment.events.request.fire(
            request_type="grpc",
            name=name,
            response_time=(time.perf_counter() - started) * 1000,
            response_length=length,
            exception=exception,
            context={},
        )


class AskUser(_Caller):
    """Streams answers; the fast and the deep one are timed apart."""

    weight = 6

    @task
    def ask(self) -> None:
        """One question, both tiers."""
        stub = answer_service_pb2_grpc.AnswerServiceStub(self.channel)
        request = answer_service_pb2.AskRequest(question=self.question())
        request.options.domain = RUN.domain
        started = time.perf_counter()
        try:
            for event in self._answers(stub.Ask(request, timeout=DEADLINE_S)):
                deep = not event.answer.provisional
                self.report("Ask deep" if deep else "Ask fast", started, length=event.ByteSize())
                if deep:
                    RUN.stages.add(event.timing)
        except grpc.RpcError as error:
            self.report("Ask deep", started, exception=error)

    @staticmethod
    def _answers(stream: Any) -> Iterator[answer_service_pb2.Answered]:
        for response in stream:
            if response.WhichOneof("event") == "answered":
                yield response.answered


class AskOnceUser(_Caller):
    """Wants only the best answer."""

    weight = 2

    @task
    def ask_once(self) -> None:
        """One question, one answer."""
        stub = answer_service_pb2_grpc.AnswerServiceStub(self.channel)
        request = answer_service_pb2.AskOnceRequest(question=self.question())
        request.options.domain = RUN.domain
        self.timed("AskOnce", lambda: stub.AskOnce(request, timeout=DEADLINE_S))


class AgentUser(_Caller):
    """Calls the three agents one after another, as an internal service would."""

    weight = 2

    @task
    def agents(self) -> None:
        """Route, retrieve, reason."""
        router = router_service_pb2_grpc.RouterServiceStub(self.channel)
        retriever = retriever_service_pb2_grpc.RetrieverServiceStub(self.channel)
        reasoner = reasoner_service_pb2_grpc.ReasonerServiceStub(self.channel)
        question = router_service_pb2.RouteRequest(question=self.question(), domain=RUN.domain)
        routed = self.timed("Route", lambda: router.Route(question, timeout=DEADLINE_S))
        if routed is None:
            return
        wanted = retriever_service_pb2.RetrieveRequest(plan=routed.plan)
        found = self.timed("Retrieve", lambda: retriever.Retrieve(wanted, timeout=DEADLINE_S))
        if found is None:
            return
        evidence = reasoner_service_pb2.ReasonRequest(
            plan=routed.plan,
            passages=found.passages,
            tier=common_pb2.TIER_DEEP,
            retrieval_confidence=found.confidence,
        )
        self.timed("Reason", lambda: reasoner.Reason(evidence, timeout=DEADLINE_S))
