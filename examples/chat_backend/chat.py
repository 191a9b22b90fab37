r"""
A small chat backend: keeps a conversation, builds the frame, asks for the context, asks a model.

    python examples/chat_backend/chat.py --index handbook --model gpt-4o \
        --llm-url http://localhost:8000

The endpoint is any that speaks the chat completions of OpenAI. An empty line ends the chat.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

import httpx
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

SYSTEM = (
    "Answer from the passages below and cite them by their markers. If they do not hold the "
    "answer, say so.\n\n{{context}}"
)
REMEMBERED_TURNS = 6


@dataclass
class Chat:
    """
    A conversation and where its answers come from.
    """

    client: ContextAssemblerClient
    http: httpx.Client
    index: str
    model: str
    tokenizer: str
    window_tokens: int = 8192
    reserved_output_tokens: int = 1024
    principals: tuple[str, ...] = ()
    turns: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, question: str) -> tuple[str, pb.AssembledContext]:
        """
        Return the model's answer and the context that it was given.
        """
        frame = self._frame(question)
        context = self.client.assemble_context(
            service_pb.AssembleContextRequest(
                queries=self._queries(question),
                targets=[
                    service_pb.Target(
                        index=self.index,
                        scope=pb.Scope(principals=pb.Principals(values=self.principals)),
                    )
                ],
                budget=pb.Budget(
                    tokenizer=self.tokenizer,
                    prompt_window=pb.PromptWindow(
                        window_tokens=self.window_tokens,
                        reserved_output_tokens=self.reserved_output_tokens,
                        messages=pb.ChatMessages(messages=frame),
                    ),
                ),
            )
        )
        messages = [
            {
                "role": message.role,
                "content": message.content.replace("{{context}}", context.context),
            }
            for message in frame
        ]
        reply = self.http.post(
            "/v1/chat/completions",
            json={
                "model": self.model,
                "messages": messages,
                "max_tokens": self.reserved_output_tokens,
            },
        )
        reply.raise_for_status()
        answer = str(reply.json()["choices"][0]["message"]["content"])
        self.turns.append((question, answer))
        return answer, context

    def _frame(self, question: str) -> list[pb.ChatMessage]:
        frame = [pb.ChatMessage(role="system", content=SYSTEM)]
        for asked, answered in self.turns[-REMEMBERED_TURNS:]:
            frame.append(pb.ChatMessage(role="user", content=_harmless(asked)))
            frame.append(pb.ChatMessage(role="assistant", content=_harmless(answered)))
        frame.append(pb.ChatMessage(role="user", content=_harmless(question)))
        return frame

    def _queries(self, question: str) -> list[service_pb.Query]:
        """
        Return the question and, at a lower weight, the one before it, for "and in winter?".
        """
        queries = [service_pb.Query(text=question)]
        if self.turns:
            queries.append(service_pb.Query(text=self.turns[-1][0], weight=0.3))
        return queries


def _harmless(text: str) -> str:
    """
    Return what a person wrote without the placeholder, which must stand in the frame only once.
    """
    return text.replace("{{context}}", "{ {context} }")


def citations(context: pb.AssembledContext) -> str:
    """
    Return one line per passage: its marker and the sources it stands for.
    """
    lines = []
    for passage in context.passages:
        names = [f"{one.title or one.source_id} ({one.version})" for one in passage.sources]
        lines.append(f"{passage.marker} {'; '.join(names)}")
    return "\n".join(lines)


def main() -> None:
    """
    Chat on standard input.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="localhost:50051")
    parser.add_argument("--index", required=True)
    parser.add_argument("--llm-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokenizer", default="o200k_base")
    parser.add_argument("--principal", action="append", default=[])
    options = parser.parse_args()
    with (
        ContextAssemblerClient(options.address) as client,
        httpx.Client(base_url=options.llm_url, timeout=60) as http,
    ):
        chat = Chat(
            client,
            http,
            options.index,
            options.model,
            options.tokenizer,
            principals=tuple(options.principal),
        )
        for line in sys.stdin:
            if not line.strip():
                break
            try:
                answer, context = chat.ask(line.strip())
            except ContextAssemblerCallError as error:
                sys.stdout.write(f"{error}\n")
                continue
            sys.stdout.write(f"{answer}\n\n{citations(context)}\n")


if __name__ == "__main__":
    main()
