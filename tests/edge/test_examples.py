"""
The examples, as a stranger would run them; the language model is replaced by a local endpoint.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from contextassembler.client import ContextAssemblerClient

EXAMPLES = Path(__file__).parents[2] / "examples"


def chat_module():
    spec = importlib.util.spec_from_file_location("chat", EXAMPLES / "chat_backend" / "chat.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["chat"] = module
    spec.loader.exec_module(module)
    return module


def test_the_chat_backend_keeps_the_conversation_inside_the_window(
    client: ContextAssemblerClient,
) -> None:
    chat = chat_module()
    seen: list[dict] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        content = "Fines are never paid [1]. {{context}}"
        return httpx.Response(200, json={"choices": [{"message": {"content": content}}]})

    with httpx.Client(base_url="http://llm.example", transport=httpx.MockTransport(answer)) as http:
        talk = chat.Chat(
            client, http, "handbook", "m", "o200k_base", window_tokens=1500, principals=("staff",)
        )
        first, context = talk.ask("Are speeding fines paid back?")
        talk.ask("And parking?")

    assert "Fines are never paid" in context.context
    assert first.startswith("Fines")
    assert "Expenses" in chat.citations(context) or "Travel expenses" in chat.citations(context)
    assert len(seen[1]["messages"]) == 4
    assert "Fines are never paid" in seen[0]["messages"][0]["content"]
    assert context.budget.context_tokens + context.budget.frame_tokens <= 1500 - 1024


def test_the_same_call_from_node(address: str, tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("Node.js is not installed on this machine")
    folder = EXAMPLES / "node"
    if not (folder / "node_modules").is_dir():
        subprocess.run([npm, "install", "--no-audit", "--no-fund"], cwd=folder, check=True)

    done = subprocess.run(
        [node, "ask.js", address, "handbook", "Are fines paid back?", "staff"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = subprocess.run(
        [node, "ask.js", address, "nope", "Are fines paid back?"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Fines are never paid" in done.stdout
    assert "[1]" in done.stdout
    assert (wrong.returncode, wrong.stderr.split(":")[0]) == (1, "NOT_FOUND")
