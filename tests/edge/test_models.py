"""
A service with two embedding models, while an index moves from one to the other.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from adapters.model_files import TOKENIZER, WEIGHTS, read_description, write_description
from indexer.index import run_index
from indexer.request import IndexRequest
from server.bootstrap import make_embedder, more_embedders
from server.setting_rules import SettingUnusable
from server.settings import Settings
from tests.edge.in_process import Running, reason_of, running_service

NAME = "variant"


@pytest.fixture(scope="module")
def variant(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return a second model: the default one's weights, pooled in another way.
    """
    folder = tmp_path_factory.mktemp("models") / NAME
    folder.mkdir()
    for name in (WEIGHTS, TOKENIZER):
        shutil.copyfile(model_folder / name, folder / name)
    described = read_description(model_folder)
    write_description(folder, replace(described, name=NAME, sha256="1" * 64, pooling="cls"))
    return folder


def asking(*tenants: str, query: service_pb.Query | None = None):
    return service_pb.AssembleContextRequest(
        queries=[query or service_pb.Query(text="When are fines paid back?")],
        targets=[
            service_pb.Target(index="docs", scope=pb.Scope(tenant=tenant)) for tenant in tenants
        ],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=500),
    )


async def model_of(running: Running, tenant: str) -> str:
    (index,) = (
        await running.stub.ListIndexes(service_pb.ListIndexesRequest(tenant=tenant))
    ).indexes
    return str(index.embedding_model)


async def test_an_index_moves_to_another_model_while_it_is_served(
    settings: Settings, variant: Path, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "fines.md").write_text("# Fines\n\nFines are never paid back.\n", encoding="utf-8")
    mine = settings.model_copy(update={"data_dir": tmp_path / "data"})
    store, first, second = EdgeStore(mine.data_dir), make_embedder(mine), OnnxEmbedder(variant)

    def publish(tenant: str, embedder: object) -> str:
        request = IndexRequest(index="docs", paths=(docs,), tenant=tenant)
        return run_index(request, store, embedder, lambda *_: None).index_version  # type: ignore[arg-type]

    old = publish("a", first)
    publish("b", first)
    async with running_service(mine, more_model_dirs=(variant,)) as running:
        before = await running.stub.AssembleContext(asking("a", "b"))
        new = publish("a", second)
        newer = asking("a", "b")
        newer.targets[0].scope.at_least = f"{new}"
        after = await running.stub.AssembleContext(newer)
        models = [await model_of(running, tenant) for tenant in ("a", "b")]
    async with running_service(mine) as running:
        still = await running.stub.AssembleContext(asking("b"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await running.stub.AssembleContext(asking("a"))
        (vector,) = await second.embed(["When are fines paid back?"])
        query = service_pb.Query(
            text="When are fines paid back?",
            vector=service_pb.QueryVector(values=vector, model=NAME),
        )
        by_vector = await running.stub.AssembleContext(asking("a", query=query))

    assert old.split(".")[0] != new.split(".")[0]
    assert list(before.context.index_versions) == [old, old]
    assert list(after.context.index_versions) == [new, old]
    assert models == [NAME, first.identity.name]
    for reply in (before, after, still, by_vector):
        assert "Fines are never paid back." in reply.context.context
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert reason_of(refused.value) == "INDEX_UNUSABLE"
    assert NAME in str(refused.value.details())


async def test_one_model_in_two_folders_is_refused(settings: Settings, variant: Path) -> None:
    first = make_embedder(settings)
    twice = settings.model_copy(update={"more_model_dirs": (variant, variant)})
    again = settings.model_copy(update={"more_model_dirs": (settings.model_dir,)})

    with pytest.raises(SettingUnusable, match=rf"MORE_MODEL_DIRS: .* same model as {variant}"):
        more_embedders(twice, first)
    with pytest.raises(SettingUnusable, match=r"MORE_MODEL_DIRS: .* same model as the first model"):
        more_embedders(again, first)


def test_folders_are_a_json_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_ASSEMBLER_MORE_MODEL_DIRS", '["/models/a", "/models/b"]')

    assert Settings().more_model_dirs == (Path("/models/a"), Path("/models/b"))
