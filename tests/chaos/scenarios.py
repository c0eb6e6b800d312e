"""Scenarios of callers: each sends one message, polls its task, answers the agent's question and may cancel."""

import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from agentfn.testing import rpc_event
from chaos.fault_plan import FaultPlan
from chaos.fleet import Fleet
from chaos.sample_agent import PlannedStep, plan_steps

FAULT_RATES = {"SendMessage": 0.25, "GetTask": 0.03, "CancelTask": 0.3}  # share of requests with a fault
REQUEST_TIMEOUT_SECONDS = 10.0  # of one request
MAX_TRIES = 40
TASK_TIMEOUT_SECONDS = 240.0  # after which a task counts as lost
TOKEN = "alice-0123456789abcdef"
TERMINAL_STATES = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})

UNSUPPORTED_OPERATION = -32004  # UnsupportedOperation: the task is over, or being worked on
INTERNAL_ERROR = -32603

Task = dict[str, Any]


@dataclass
class Scenario:
    """The record of a scenario. `seen_final` has each terminal task that was read, `tasks_by_message` the tasks of each
    message id."""

    number: int
    steps: list[PlannedStep]
    task_id: str = ""
    waits_for_input: bool = False
    cancelled: bool = False
    seen_final: list[Task] = field(default_factory=list)
    tasks_by_message: dict[str, set[str]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


@dataclass
class ScenarioClient:
    """Runs one scenario. It retries failed requests, like a client."""

    fleet: Fleet
    fault_plan: FaultPlan
    scenario: Scenario
    request_count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def for_number(cls, fleet: Fleet, fault_plan: FaultPlan, number: int) -> "ScenarioClient":
        return cls(fleet, fault_plan, Scenario(number, plan_steps(fault_plan.random_for("plan", number))))

    def run(self) -> Scenario:
        mine, rng = self.scenario, self.fault_plan.random_for("caller", self.scenario.number)
        text = json.dumps({"steps": mine.steps})
        task = self._send(rng, text, "first")
        if task is None:
            return mine
        mine.task_id = task["id"]
        cancel_at = time.monotonic() + rng.uniform(0.0, 6.0) if rng.random() < 0.1 else float("inf")
        self._follow(rng, cancel_at)
        return mine

    def _follow(self, rng: random.Random, cancel_at: float) -> None:
        """Polls the task until it ends, or stops while it waits for an answer."""
        end, pause = time.monotonic() + TASK_TIMEOUT_SECONDS, 0.7
        while time.monotonic() < end:
            time.sleep(pause)
            pause = min(5.0, pause * 1.4)
            if time.monotonic() > cancel_at:
                cancel_at = float("inf")
                self._cancel()
            state = self._poll()
            if state in TERMINAL_STATES:
                time.sleep(rng.uniform(0.0, 2.0))
                self._poll()
                return
            if state == "INPUT_REQUIRED":
                if rng.random() < 0.15:
                    self.scenario.waits_for_input = True
                    return
                self._send(rng, "Yes.", "answer", self.scenario.task_id)
                pause = 0.5
        self.scenario.violations.append(f"lost: not ended after {TASK_TIMEOUT_SECONDS:.0f} s")

    def _send(self, rng: random.Random, text: str, name: str, task_id: str = "") -> Task | None:
        """Sends a message until it is accepted, sometimes twice at once."""
        message_id = f"{self.scenario.number}-{name}"
        said: dict[str, Any] = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        said |= {"taskId": task_id} if task_id else {}
        params = {"message": said, "configuration": {"returnImmediately": rng.random() < 0.6}}
        if rng.random() < 0.1:
            self.fleet.fault_counts.count("send twice at once")
            with ThreadPoolExecutor(2) as pool:
                answers = [each.result() for each in [pool.submit(self._request, "SendMessage", params) for _ in "ab"]]
        else:
            answers = [self._request("SendMessage", params)]
        tasks = [answer["task"] for answer in answers if answer and "task" in answer]
        self.scenario.tasks_by_message[message_id] = {task["id"] for task in tasks}
        if not tasks and not task_id:
            self.scenario.violations.append(f"never accepted: {answers}")
        return tasks[0] if tasks else None

    def _cancel(self) -> None:
        answer = self._request("CancelTask", {"id": self.scenario.task_id})
        self.scenario.cancelled = bool(answer and "status" in answer)

    def _poll(self) -> str:
        task = self._request("GetTask", {"id": self.scenario.task_id})
        if task is None or "status" not in task:
            self.scenario.violations.append(f"lost: the reader was told {task}")
            return ""
        state = str(task["status"]["state"]).removeprefix("TASK_STATE_")
        if state in TERMINAL_STATES:
            self.scenario.seen_final.append(task)
        elif self.scenario.seen_final:
            self.scenario.violations.append(f"not final: {state} after {self.scenario.seen_final[0]['status']}")
        return state

    def _request(self, method: str, params: Any) -> Task | None:
        """The result, or an error that is not retryable; None after MAX_TRIES."""
        for _ in range(MAX_TRIES):
            with self.lock:
                self.request_count += 1
                fault = self.fault_plan.fault_for(FAULT_RATES[method], method, self.scenario.number, self.request_count)
            event = rpc_event(method, params, {"Authorization": f"Bearer {TOKEN}"})
            answer = self.fleet.invoke(event, REQUEST_TIMEOUT_SECONDS, fault)
            body = json.loads(answer["body"]) if answer and "body" in answer else {}
            if "result" in body:
                return body["result"]  # type: ignore[no-any-return]
            error = body.get("error") or {"code": INTERNAL_ERROR}
            if error["code"] != INTERNAL_ERROR:
                return {"error": error}
            time.sleep(0.3)
        return None
