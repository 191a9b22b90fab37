"""
A hostile index behind a running service: nothing leaks, nothing breaks, and every case is accounted
for by a disposition, a note and a counter.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
import pytest_asyncio
import qdrant_edge as edge
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from rich.console import Console

from assembler.model import FieldType
from cli.index import index_paths
from indexer.request import IndexRequest
from server.bootstrap import Service
from server.lifecycle import serve
from server.settings import Settings
from tests.qdrant_server.server import TestServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

RULES = """# Fines

Fines are never paid back. Fines of guests are not paid back either.

# Trains

Trains are booked in second class. Night trains are booked in first class.
"""
SECRET = "# Fines\n\nThe fines of the board are secret and amount to 78000.\n"
PRIVATE = "# Fines\n\nThe private fines of the owner are 99000.\n"
LEAKS = ("78000", "99000", "board", "owner")
QUESTION = "Are fines paid back?"
Payload = dict[str, Any]


@dataclass
class Hostile:
    """
    A service over an index whose stored points can be changed behind its back.
    """

    service: Service
    stub: ContextAssemblerServiceStub
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
        reply = await self.stub.AssembleContext(
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
        self.service.denials.report()  # at once, not within the second
        names = ("denied_points", "dispositions", "candidate_notes")
        return {
            "_".join([name, *sample.labels.values()]): sample.value
            for metric in self.service.metrics.registry.collect()
            for name in names
            if metric.name == f"context_assembler_{name}"
            for sample in metric.samples
        }


@pytest.fixture(scope="module")
def stored(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """
    Index a visible and a private source of one tenant, and a secret one of another.
    """
    with TestServer() as server:
        to = settings.model_copy(update={"qdrant_url": f"http://127.0.0.1:{server.port}"})
        for tenant, files in {
            "acme": {"rules.md": (RULES, ["staff"]), "private.md": (PRIVATE, ["owner"])},
            "other": {"secret.md": (SECRET, ["staff"])},
        }.items():
            folder = tmp_path_factory.mktemp(tenant)
            facts = folder.parent / f"{folder.name}.jsonl"
            facts.write_text(
                "".join(
                    json.dumps({"path": name, "readers": readers, "metadata": {"team": "travel"}})
                    + "\n"
                    for name, (_, readers) in files.items()
                ),
                encoding="utf-8",
            )
            for name, (text, _) in files.items():
                (folder / name).write_text(text, encoding="utf-8")
            request = IndexRequest(
                index="docs",
                paths=(folder,),
                tenant=tenant,
                sources_file=facts,
                schema={"team": FieldType.KEYWORD},
            )
            index_paths(request, to, Console(quiet=True))
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(settings: Settings, stored: TestServer) -> AsyncIterator[Hostile]:
    mine = settings.model_copy(
        update={
            "qdrant_url": f"http://127.0.0.1:{stored.port}",
            "host": "127.0.0.1",
            "port": 0,
            "health_port": 0,
            "metrics_port": 0,
            "log_level": "ERROR",
        }
    )
    ready: asyncio.Future[Service] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(
        serve(mine, ready=lambda service, _: ready.set_result(service), stop=stop)
    )
    service = await ready
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        it = Hostile(service, ContextAssemblerServiceStub(channel), stored)
        it.read()
        yield it
    stop.set()
    await task


@pytest_asyncio.fixture(loop_scope="module")
async def hostile(served: Hostile) -> AsyncIterator[Hostile]:
    yield served
    served.put_back()


@dataclass(frozen=True)
class Case:
    """
    What is done to the points of the fines, and what becomes of their chunk.

    Attributes:
        chunk: Values of the chunk; a callable is given all points.
        section: Values of its section.
        deletes: Whether the section is deleted.
        fate: The chunk's disposition; None where it is no candidate.
        note: Its note.
        denied: Why a point that came back was dropped.
    """

    chunk: Mapping[str, Any] = field(default_factory=dict)
    section: Mapping[str, Any] = field(default_factory=dict)
    deletes: bool = False
    fate: str | None = "PACKED"
    note: str | None = None
    denied: str | None = None


def key_of(text: str, tenant: str, kind: str = "section") -> Any:
    return lambda it: it.points[it.find(kind, text, tenant)]["key"]


def same_length(it: Hostile) -> str:
    text = str(it.points[it.find("section", "Fines are never")]["text"])
    return text.replace("never", "often")


def sha(text: Any) -> Any:
    return lambda it: hashlib.sha256(text(it).encode()).hexdigest()


CASES = {
    "section id into another tenant": Case(
        {"section_key": key_of("78000", "other")}, note="PARENT_MISSING"
    ),
    "section id into other readers": Case(
        {"section_key": key_of("99000", "acme")}, note="PARENT_MISSING"
    ),
    "section id of another section": Case(
        {"section_key": key_of("Trains", "acme")}, note="PARENT_MISMATCH"
    ),
    "section id of a chunk": Case(
        {"section_key": key_of("Fines are never", "acme", "chunk")}, note="PARENT_MISSING"
    ),
    "section id of another type": Case({"section_key": 7}, fate=None, denied="damaged"),
    "section missing": Case(deletes=True, note="PARENT_MISSING"),
    "section of another tenant": Case(section={"tenant": "other"}, note="PARENT_MISSING"),
    "section of other readers": Case(section={"readers": ["owner"]}, note="PARENT_MISSING"),
    "section's hash wrong": Case(
        section={"text_sha256": "0" * 64}, note="PARENT_MISSING", denied="damaged"
    ),
    "section's text changed": Case(
        section={"text": same_length}, note="PARENT_MISSING", denied="damaged"
    ),
    "section's text and hash changed": Case(
        section={"text": same_length, "text_sha256": sha(same_length)}, note="PARENT_MISMATCH"
    ),
    "section's metadata differs": Case(
        section={"fields": {"team": "finance"}}, note="PARENT_MISMATCH"
    ),
    "section's version differs": Case(section={"version": "v9"}, note="PARENT_MISMATCH"),
    "section's source differs": Case(section={"source_id": "else.md"}, note="PARENT_MISMATCH"),
    "section's borders outside it": Case(
        section={"border_offsets": [0, 99999], "border_kinds": "ps"},
        note="PARENT_MISSING",
        denied="damaged",
    ),
    "section's chunks outside it": Case(
        section={"chunk_spans": [0, 99999]}, note="PARENT_MISSING", denied="damaged"
    ),
    "chunk outside its section": Case(
        {"start": 5000, "end": lambda it: 5000 + len(own_text(it))}, note="PARENT_MISMATCH"
    ),
    "chunk's own text wrong, section missing": Case(
        {"text": "The fines of the board are 78000."},
        deletes=True,
        fate="INVALID",
        note=None,
    ),
    "chunk's hash wrong": Case({"text_sha256": "0" * 64}, fate="INVALID", note=None),
    "chunk of another tenant": Case({"tenant": "other"}, fate=None),
    "chunk of other readers": Case({"readers": ["owner"]}, fate=None),
    "chunk's readers of another type": Case({"readers": "staff"}, fate=None, denied="damaged"),
    "chunk from a later revision": Case({"from_rev": 9}, fate=None),
    "chunk that ended before it began": Case({"from_rev": 1, "to_rev": 0}, fate=None),
    "chunk inactive before it began": Case({"active_to_rev": 1}, fate=None),
    "section that ended before it began": Case(section={"to_rev": 0}, note="PARENT_MISSING"),
    "section from a later revision": Case(section={"from_rev": 9}, note="PARENT_MISSING"),
    "chunk of no kind": Case({"kind": "passage"}, fate=None),
    "chunk without a key": Case({"key": None}, fate=None, denied="damaged"),
}


def own_text(it: Hostile) -> str:
    return str(it.points[it.find("chunk", "Fines are never")]["text"])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_every_case_has_its_disposition_its_note_and_its_counter(
    hostile: Hostile, case: Case
) -> None:
    chunk, section = (hostile.find(kind, "Fines are never") for kind in ("chunk", "section"))
    key = hostile.points[chunk]["key"]
    for point_id, values in ((chunk, case.chunk), (section, case.section)):
        made = {
            name: value(hostile) if callable(value) else value for name, value in values.items()
        }
        if made:
            hostile.change(point_id, **made)
    if case.deletes:
        # to be put back, it has to stay; to readers it is gone
        hostile.change(section, kind="gone")
    before = hostile.counters()

    reply = await hostile.ask()

    now = hostile.counters()
    rise = {name: value - before[name] for name, value in now.items() if value != before[name]}
    assert_sound(reply)
    fates = {one.chunk_key: one for one in reply.dispositions.list}
    if case.fate is None:
        assert key not in fates
        assert "Fines are never paid back." not in reply.context or case.denied is None
    else:
        told = fates[key]
        assert pb.Disposition.Name(told.disposition) == f"DISPOSITION_{case.fate}"
        notes = {pb.Note.Name(note).removeprefix("NOTE_") for note in told.notes}
        assert {note for note in notes if note.startswith("PARENT")} == (
            {case.note} if case.note else set()
        )
        assert rise[f"dispositions_{case.fate.lower()}"] >= 1
        if case.fate == "PACKED":
            assert "Fines are never paid back." in reply.context
    if case.note:
        assert rise[f"candidate_notes_{case.note.lower()}"] >= 1
    if case.denied:
        assert rise[f"denied_points_{case.denied}"] >= 1
    else:
        assert not any(name.startswith("denied_points") for name in rise)


async def test_ids_of_another_type_do_not_matter(hostile: Hostile) -> None:
    chunk = hostile.find("chunk", "Trains")
    (record,) = hostile.shard.retrieve([chunk], with_payload=True, with_vector=True)
    vectors = dict(record.vector)
    hostile.shard.update(
        edge.UpdateOperation.upsert_points([edge.Point(7, vectors, hostile.points[chunk])])
    )

    reply = await hostile.ask(queries=[service_pb.Query(text="How are trains booked?")])

    assert_sound(reply)
    assert reply.context.count("Trains are booked in second class.") == 1
    hostile.shard.update(edge.UpdateOperation.delete_points([7]))


async def test_anything_else_neither_leaks_nor_breaks(hostile: Hostile) -> None:
    draw = random.Random(17)
    mine = [
        point_id
        for point_id, payload in hostile.points.items()
        if payload["tenant"] == "acme" and payload["source_id"] == "rules.md"
    ]
    foreign = [
        payload["key"] for payload in hostile.points.values() if payload["source_id"] != "rules.md"
    ]
    tally: Counter[str] = Counter()
    for _ in range(120):
        for point_id in draw.sample(mine, k=draw.randint(1, 3)):
            name = draw.choice(sorted(hostile.points[point_id]))
            hostile.change(point_id, **{name: hostile_value(draw, foreign)})
        reply = await hostile.ask(
            expansion=pb.Expansion(
                mode=draw.choice(
                    [
                        pb.EXPANSION_MODE_AUTO,
                        pb.EXPANSION_MODE_CHUNK,
                        pb.EXPANSION_MODE_SECTION,
                    ]
                )
            ),
            layout=pb.Layout(format=draw.choice([pb.FORMAT_MARKDOWN, pb.FORMAT_XML])),
        )
        assert_sound(reply)
        tally[
            pb.Disposition.Name(reply.dispositions.list[0].disposition)
            if reply.dispositions.list
            else "nothing"
        ] += 1
        hostile.put_back()

    assert sum(tally.values()) == 120
    assert len(tally) >= 2


def hostile_value(draw: random.Random, foreign: list[str]) -> Any:
    return draw.choice(
        [
            *(None, True, -1, 0, 1, 3, 2**53, 2**62, 0.5, "", "x", "12345", [], {}, [1, 2]),
            *([[]], ["x"], {"a": {"b": 1}}, [3, 2, 1, 0], [0, 9, 4, 12], "pppp", ["staff"]),
            draw.choice(foreign),
            [draw.choice(foreign)],
            [draw.randint(0, 200) for _ in range(draw.randint(1, 6))],
            "s" * draw.randint(1, 300),
        ]
    )


def assert_sound(reply: pb.AssembledContext) -> None:
    """
    Check that nothing has leaked, in no part of the reply, and that everything is accounted for.
    """
    everything = str(reply)
    assert not [word for word in LEAKS if word in everything]
    account = reply.dispositions
    assert sum(one.count for one in account.counts) == account.candidates == len(account.list)
    assert reply.budget.context_tokens <= 400
