"""
Callers of the stack, and what became of their calls.
"""

from __future__ import annotations

import threading
import time

from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

INDEX = "handbook"
QUESTIONS = ("Are fines paid back?", "Who pays for a train to Oslo?", "How long is parental leave?")
BUDGET = 500
CALLERS = 3


class Load:
    """
    Callers that ask one question after another, and what became of their calls.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.answered = 0
        self.failed: list[str] = []
        self._threads = [threading.Thread(target=self._ask_on, args=(n,)) for n in range(CALLERS)]

    def start(self) -> None:
        """
        Begin to ask.
        """
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """
        Ask no more, and wait for the last answers.
        """
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _ask_on(self, number: int) -> None:
        with ContextAssemblerClient(self._address, timeout_seconds=30) as client:
            while not self._ended.is_set():
                question = QUESTIONS[number % len(QUESTIONS)]
                number += 1
                try:
                    reply = client.assemble_context(asking(question))
                except ContextAssemblerCallError as error:
                    with self._lock:
                        self.failed.append(str(error))
                    time.sleep(0.2)
                else:
                    with self._lock:
                        self.answered += 1
                        if reply.budget.context_tokens > BUDGET or not reply.context:
                            self.failed.append(f"a wrong context for {question!r}")


def asking(question: str) -> service_pb.AssembleContextRequest:
    """
    Return the request for a question.
    """
    scope = pb.Scope(principals=pb.Principals(values=["staff"]))
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=question)],
        targets=[service_pb.Target(index=INDEX, scope=scope)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=BUDGET),
    )
