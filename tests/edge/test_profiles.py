"""
A profile of a file, asked for by name in a request.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from assembler.profile import DEFAULT_PROFILE
from cli.demo import serving
from indexer.request import Summary
from server.settings import Settings


def test_requests_may_name_a_profile_of_the_file(
    settings: Settings, handbook: Summary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text("[words]\nbm25 = 1\ndense = 0\n")
    monkeypatch.setenv("CONTEXT_ASSEMBLER_PROFILES_FILE", str(path))
    request = service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="Are fines paid back?")],
        targets=[
            service_pb.Target(
                index="handbook", scope=pb.Scope(principals=pb.Principals(values=["staff"]))
            )
        ],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=200),
        profile="words",
    )

    with serving(settings) as address, ContextAssemblerClient(address, timeout_seconds=30) as mine:
        context = mine.assemble_context(request)
        request.profile = "nobody"
        with pytest.raises(ContextAssemblerCallError, match=r"NOT_FOUND: profile .nobody. .*words"):
            mine.assemble_context(request)

    assert handbook.is_published
    assert "Fines are never paid" in context.context
    assert context.effective.profile == "words"
    words = replace(DEFAULT_PROFILE, name="words", bm25=1.0, dense=0.0)
    assert context.effective.profile_sha256 == words.sha256
