"""The callers: each sends one message, answers what the agent asks, may cancel, and looks at its task all the while."""

import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from agentfn.testing import rpc_event
from chaos.fault_plan import Dice
from chaos.fleet import Fleet
from chaos.sample_agent import Step, plan

OFTEN = {"SendMessage": 0.25, "GetTask": 0.03, "CancelTask": 0.3}  # how many requests get a fault on their way
SECONDS = 10.0  # that a request may take
TRIES = 40
LONGEST = 240.0  # seconds until a task that has not ended counts as lost
TOKEN = "alice-0123456789abcdef"
ENDED = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})

REFUSED = -32004  # UnsupportedOperation: the task is over, or being worked on
INTERNAL = -32603

Task = dict[str, Any]


@dataclass
class Errand:
    """`seen` is each terminal task that the reader was shown, `sent` the task of each answer to a message by its id."""

    number: int
    steps: list[Step]
    task_id: str = ""
    waits: bool = False
    cancelled: bool = False
    seen: list[Task] = field(default_factory=list)
    sent: dict[str, set[str]] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


@dataclass
class Caller:
    """Plays one errand. What goes wrong on the way is tried again, as a client would."""

    fleet: Fleet
    dice: Dice
    errand: Errand
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, fleet: Fleet, dice: Dice, number: int) -> "Caller":
        return cls(fleet, dice, Errand(number, plan(dice.of("plan", number))))

    def play(self) -> Errand:
        mine, dice = self.errand, self.dice.of("caller", self.errand.number)
        text = json.dumps({"steps": mine.steps})
        task = self._send(dice, text, "first")
        if task is None:
            return mine
        mine.task_id = task["id"]
        cancel_at = time.monotonic() + dice.uniform(0.0, 6.0) if dice.random() < 0.1 else float("inf")
        self._follow(dice, cancel_at)
        return mine

    def _follow(self, dice: random.Random, cancel_at: float) -> None:
        """Looks at the task until it is over, or waits for an answer that it never gets."""
        end, pause = time.monotonic() + LONGEST, 0.7
        while time.monotonic() < end:
            time.sleep(pause)
            pause = min(5.0, pause * 1.4)
            if time.monotonic() > cancel_at:
                cancel_at = float("inf")
                self._cancel()
            state = self._look()
            if state in ENDED:
                time.sleep(dice.uniform(0.0, 2.0))
                self._look()
                return
            if state == "INPUT_REQUIRED":
                if dice.random() < 0.15:
                    self.errand.waits = True
                    return
                self._send(dice, "Yes.", "answer", self.errand.task_id)
                pause = 0.5
        self.errand.complaints.append(f"lost: not ended after {LONGEST:.0f} s")

    def _send(self, dice: random.Random, text: str, name: str, task_id: str = "") -> Task | None:
        """Until it is accepted; now and then twice at once."""
        message_id = f"{self.errand.number}-{name}"
        said: dict[str, Any] = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        said |= {"taskId": task_id} if task_id else {}
        params = {"message": said, "configuration": {"returnImmediately": dice.random() < 0.6}}
        if dice.random() < 0.1:
            self.fleet.struck.count("send twice at once")
            with ThreadPoolExecutor(2) as pool:
                answers = [each.result() for each in [pool.submit(self._tried, "SendMessage", params) for _ in "ab"]]
        else:
            answers = [self._tried("SendMessage", params)]
        tasks = [answer["task"] for answer in answers if answer and "task" in answer]
        self.errand.sent[message_id] = {task["id"] for task in tasks}
        if not tasks and not task_id:
            self.errand.complaints.append(f"never accepted: {answers}")
        return tasks[0] if tasks else None

    def _cancel(self) -> None:
        answer = self._tried("CancelTask", {"id": self.errand.task_id})
        self.errand.cancelled = bool(answer and "status" in answer)

    def _look(self) -> str:
        task = self._tried("GetTask", {"id": self.errand.task_id})
        if task is None or "status" not in task:
            self.errand.complaints.append(f"lost: the reader was told {task}")
            return ""
        state = str(task["status"]["state"]).removeprefix("TASK_STATE_")
        if state in ENDED:
            self.errand.seen.append(task)
        elif self.errand.seen:
            self.errand.complaints.append(f"not final: {state} after {self.errand.seen[0]['status']}")
        return state

    def _tried(self, method: str, params: Any) -> Task | None:
        """The result, or the error that trying again will not help; None where it never came to one."""
        for _ in range(TRIES):
            with self.lock:
                self.asked += 1
                order = self.dice.order(OFTEN[method], method, self.errand.number, self.asked)
            event = rpc_event(method, params, {"Authorization": f"Bearer {TOKEN}"})
            answer = self.fleet.invoke(event, SECONDS, order)
            body = json.loads(answer["body"]) if answer and "body" in answer else {}
            if "result" in body:
                return body["result"]  # type: ignore[no-any-return]
            error = body.get("error") or {"code": INTERNAL}
            if error["code"] != INTERNAL:
                return {"error": error}
            time.sleep(0.3)
        return None
