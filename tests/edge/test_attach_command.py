"""
`attach`, in the test's own process: what it says of a collection, and what it writes where.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client.http import models as rest

from adapters.attachment import read_attached
from adapters.embedder import OnnxEmbedder
from cli.main import main
from server.settings import Settings
from tests.attached import Writer, id_of, langchain_payload, llamaindex_payload, pieces_of
from tests.edge.commands import Call, caller
from tests.qdrant_server.server import TestServer

TEXT = "Refunds are paid within a week. " * 40


@pytest.fixture
def writer(settings: Settings) -> Iterator[Writer]:
    with TestServer() as server:
        made = Writer(server, OnnxEmbedder(settings.model_dir, threads=1))
        yield made
        made.close()


@pytest.fixture
def attach(
    writer: Writer,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """
    Return a function that runs `attach` before the test's server.
    """
    monkeypatch.setenv("CONTEXT_ASSEMBLER_QDRANT_URL", f"http://127.0.0.1:{writer.server.port}")
    monkeypatch.setenv("CONTEXT_ASSEMBLER_MODEL_DIR", str(settings.model_dir))
    monkeypatch.setenv("COLUMNS", "200")
    call = caller(monkeypatch, capsys)
    return lambda *words: call("attach", *words, "--file", str(tmp_path / "attached.toml"))


def write_langchain(writer: Writer, name: str = "lc") -> None:
    pieces = list(pieces_of(TEXT))
    writer.create(name, indexes={"metadata.source": "keyword"})
    payloads = [langchain_payload(piece, "a.md") for piece in pieces]
    writer.write(name, [piece.text for piece in pieces], payloads, [id_of(name, p) for p in pieces])


def test_a_collection_is_looked_at_and_written_down(
    attach: Call, writer: Writer, tmp_path: Path
) -> None:
    write_langchain(writer)
    writer.write("lc", ["none"], [{"page_content": "none"}], [id_of("none")])
    writer.server.forget()

    done = attach("docs", "--collection", "lc", "--preset", "langchain")
    told = json.loads(
        attach("docs", "--collection", "lc", "--preset", "langchain", "--json").stdout
    )

    fit = len(list(pieces_of(TEXT)))
    assert done.returncode == 0
    assert f"{fit + 1} points; of {fit + 1}, {fit} fit the mapping" in done.stdout
    assert "1 have no metadata.source" in done.stdout
    assert "metadata.start_index has no payload index" in done.stdout
    assert "tenants: none: only the empty tenant sees it" in done.stdout
    assert (told["fitting"], told["with_offsets"]) == (fit, fit)
    assert told["unindexed"] == ["metadata.start_index"]
    assert told["similarity"] > 0.95
    assert set(writer.server.calls) == {"Get", "Scroll", "List"}
    (attachment,) = read_attached(tmp_path / "attached.toml").values()
    assert (attachment.collection, attachment.vector, attachment.dimension) == ("lc", "", 384)
    assert attachment.model_sha256 == OnnxEmbedder(Settings().model_dir).identity.sha256


def test_vectors_of_another_model_are_refused_or_named(
    attach: Call, writer: Writer, tmp_path: Path
) -> None:
    pieces = list(pieces_of(TEXT))
    writer.create("li", vector="text-dense")
    ids = [id_of("li", piece) for piece in pieces]
    payloads = [llamaindex_payload(p, "a.md", one) for one, p in zip(ids, pieces, strict=True)]
    writer.write("li", [f"xyz {n}" for n in range(len(ids))], payloads, ids, vector="text-dense")
    small = rest.VectorParams(size=2, distance=rest.Distance.COSINE)
    writer.client.create_collection("small", {"one": small, "two": small})
    point = rest.PointStruct(id=1, payload={"t": "text", "s": "a"}, vector={"one": [1.0, 0.0]})
    writer.client.upsert("small", [point])

    other = attach("docs", "--collection", "li", "--preset", "llamaindex")
    named = attach("docs", "--collection", "li", "--preset", "llamaindex", "--model", "theirs")
    paths = ("--text", "t", "--source", "s")
    several = attach("docs", "--collection", "small", *paths)
    size = attach("docs", "--collection", "small", *paths, "--vector", "one")

    assert "not of this service's model" in other.stderr
    assert "queries have to bring vectors" in named.stdout
    (attachment,) = read_attached(tmp_path / "attached.toml").values()
    assert (attachment.model, attachment.model_sha256) == ("theirs", None)
    assert attachment.vector == "text-dense"
    assert "dense vectors: 'one', 'two'" in several.stderr
    assert "have 2 dimensions, the model 384" in size.stderr


def test_chunks_by_ordinal_and_alone_are_told_as_what_they_are(
    attach: Call, writer: Writer
) -> None:
    writer.create("own")
    payload = {"t": "Refunds are paid.", "s": "a", "n": 0, "c": "x", "who": "acme"}
    writer.write("own", ["Refunds are paid."], [payload], [1])
    paths = ("docs", "--collection", "own", "--text", "t", "--source", "s")

    numbered = attach(*paths, "--ordinal", "n", "--tenant", "who")
    named = attach(*paths, "--ordinal", "n", "--section", "c")
    alone = attach(*paths)
    ranged = attach(*paths, "--start", "n", "--section", "c")

    assert "inside each 8 by ordinal" in numbered.stdout
    assert "tenants: who" in numbered.stdout
    assert "n has no payload index" in numbered.stdout
    assert "follow each other, inside its section" in named.stdout
    assert "every chunk stands alone" in alone.stdout
    assert "that touch, inside its section" in ranged.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("docs", "--collection", "nope", "--preset", "langchain"), "no collection 'nope'"),
        (("docs", "--collection", "lc", "--preset", "nope"), "there is no preset"),
        (("docs", "--collection", "lc", "--text", "t"), "source: is needed"),
        (("docs", "--collection", "lc", "--preset", "llamaindex"), "none of"),
        (("Docs", "--collection", "lc", "--preset", "langchain"), "Docs"),
        (("ours", "--collection", "lc", "--preset", "langchain"), "is an index of ours"),
        (("docs", "--collection", "dots", "--preset", "langchain"), "compared by Dot"),
        (("docs", "--collection", "lc", "--preset", "langchain", "--end", "e"), None),
    ],
)
def test_what_cannot_be_attached_is_refused(
    attach: Call, writer: Writer, tmp_path: Path, words: tuple[str, ...], says: str | None
) -> None:
    write_langchain(writer)
    writer.client.create_collection("dots", rest.VectorParams(size=3, distance=rest.Distance.DOT))
    writer.create("ctx__ours__ledger")

    done = attach(*words)

    if says is None:  # an end that is not where it is said to be is not believed
        assert "0 of these have offsets" in done.stdout
        return
    assert done.returncode == 1
    assert says in done.stderr
    assert not (tmp_path / "attached.toml").exists()


def test_a_file_and_a_server_have_to_be_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["attach", "docs", "--collection", "c", "--preset", "langchain"]
    for more, says in (([], "name the file"), (["--file", "x.toml"], "only a server's")):
        monkeypatch.setattr(sys, "argv", ["context-assembler", *words, *more])
        with pytest.raises(SystemExit):
            main()
        assert says in capsys.readouterr().err.replace("\n", " ")
    assert settings.attached_file is None


def test_an_index_with_the_name_of_an_attached_collection_is_not_written(
    writer: Writer,
    attach: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_langchain(writer, "articles")
    assert attach("articles", "--collection", "articles", "--preset", "langchain").returncode == 0
    monkeypatch.setenv("CONTEXT_ASSEMBLER_ATTACHED_FILE", str(tmp_path / "attached.toml"))
    (tmp_path / "own.md").write_text("Refunds.", encoding="utf-8")
    words = ["context-assembler", "index", str(tmp_path / "own.md"), "--index", "articles"]
    monkeypatch.setattr(sys, "argv", words)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert "articles: is an attached collection" in capsys.readouterr().err.replace("\n", " ")
