"""
A service over an index whose stored points can be changed behind its back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from rich.console import Console

from assembler.model import FieldType
from cli.index import index_paths
from indexer.request import IndexRequest
from server.settings import Settings
from tests.edge.in_process import Running
from tests.qdrant_server.server import TestServer

RULES = """# Fines

Fines are never paid back. Fines of guests are not paid back either.

# Trains

Trains are booked in second class. Night trains are booked in first class.
"""
SECRET = "# Fines\n\nThe fines of the board are secret and amount to many thalers.\n"
PRIVATE = "# Fines\n\nThe private fines of the owner are many zlotys.\n"
LEAKS = ("thalers", "zlotys", "board", "owner")
"""No digits: the hashes and times of a reply hold any of those by chance."""
QUESTION = "Are fines paid back?"
Payload = dict[str, Any]


@dataclass
class Hostile:
    """
    A service over an index whose stored points can be changed behind its back.
    """

    running: Running
    qdrant: TestServer
    points: dict[str, Payload] = field(default_factory=dict)

    @property
    def shard(self) -> edge.EdgeShard:
        (name,) = (name for name in self.qdrant.collections() if not name.endswith("ledger"))
        return self.qdrant.shard(name)

    def read(self) -> None:
        """
        Keep what is stored, to be put back.
        """
        records, _ = self.shard.scroll(edge.ScrollRequest(limit=1000, with_payload=True))
        self.points = {str(record.id): dict(record.payload or {}) for record in records}

    def put_back(self) -> None:
        """
        Make the stored points what they were.
        """
        for point_id, payload in self.points.items():
            self.shard.update(edge.UpdateOperation.overwrite_payload([point_id], payload))

    def change(self, point_id: str, **values: object) -> None:
        """
        Change some values of a point.
        """
        self.shard.update(edge.UpdateOperation.set_payload([point_id], values))

    def find(self, kind: str, text: str, tenant: str = "acme") -> str:
        """
        Return the id of the point of this kind that holds a text.
        """
        (found,) = (
            point_id
            for point_id, payload in self.points.items()
            if payload["kind"] == kind and payload["tenant"] == tenant and text in payload["text"]
        )
        return found

    async def ask(self, **asked: Any) -> pb.AssembledContext:
        """
        Return the reply to a question of the tenant that may see the rules only.
        """
        reply = await self.running.stub.AssembleContext(
            service_pb.AssembleContextRequest(
                **{
                    "queries": [service_pb.Query(text=QUESTION)],
                    "targets": [
                        service_pb.Target(
                            index="docs",
                            scope=pb.Scope(
                                tenant="acme", principals=pb.Principals(values=["staff"])
                            ),
                        )
                    ],
                    "budget": pb.Budget(tokenizer="o200k_base", context_tokens=400),
                    "fill": pb.FILL_FULL,
                    "explain": pb.EXPLAIN_LIST,
                    **asked,
                }
            )
        )
        return reply.context

    def counters(self) -> dict[str, float]:
        """
        Return what is counted of points, dispositions and notes.
        """
        self.running.service.denials.report()  # at once, not within the second
        names = ("denied_points", "dispositions", "candidate_notes")
        return {
            "_".join([name, *sample.labels.values()]): sample.value
            for metric in self.running.service.metrics.registry.collect()
            for name in names
            if metric.name == f"context_assembler_{name}"
            for sample in metric.samples
        }


def write(settings: Settings, folder: Path) -> None:
    """
    Index a visible and a private source of one tenant, and a secret one of another.
    """
    for tenant, files in {
        "acme": {"rules.md": (RULES, ["staff"]), "private.md": (PRIVATE, ["owner"])},
        "other": {"secret.md": (SECRET, ["staff"])},
    }.items():
        documents = folder / tenant
        documents.mkdir()
        facts = folder / f"{tenant}.jsonl"
        facts.write_text(
            "".join(
                json.dumps({"path": name, "readers": readers, "metadata": {"team": "travel"}})
                + "\n"
                for name, (_, readers) in files.items()
            ),
            encoding="utf-8",
        )
        for name, (text, _) in files.items():
            (documents / name).write_text(text, encoding="utf-8")
        request = IndexRequest(
            index="docs",
            paths=(documents,),
            tenant=tenant,
            sources_file=facts,
            schema={"team": FieldType.KEYWORD},
        )
        index_paths(request, settings, Console(quiet=True))


def assert_sound(reply: pb.AssembledContext) -> None:
    """
    Check that nothing has leaked, in no part of the reply, and that everything is accounted for.
    """
    everything = str(reply)
    assert not [word for word in LEAKS if word in everything]
    account = reply.dispositions
    assert sum(one.count for one in account.counts) == account.candidates == len(account.list)
    assert reply.budget.context_tokens <= 400
