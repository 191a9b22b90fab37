"""
Which profile an index names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from assembler.errors import ProfileUnknown
from assembler.ports import ModelIdentity
from assembler.profile import DEFAULT_PROFILE, E5_PROFILE, PROFILES, profile_of
from indexer.index import IndexRequest, run_index
from indexer.request import Summary
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder


class FakeE5(FakeEmbedder):
    """
    An embedder that says it is the model that a profile was fitted to.
    """

    def __init__(self) -> None:
        super().__init__()
        self._identity = ModelIdentity("intfloat/multilingual-e5-small", "5" * 64, 8)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("A text.\n")
    return tmp_path


def run(
    store: FakeIndex, request: IndexRequest, embedder: FakeEmbedder | None = None
) -> tuple[Summary, str]:
    summary = run_index(request, store, embedder or FakeEmbedder(), lambda *_: None)
    (listing,) = store.listings(request.tenant)
    return summary, listing.manifest.profile


def test_every_profile_has_its_own_name() -> None:
    assert all(profile.name == name for name, profile in PROFILES.items())


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("multilingual-e5-small", E5_PROFILE.name),
        ("intfloat/multilingual-E5-small", E5_PROFILE.name),
        ("multilingual-e5-small-instruct", "default"),
        ("sentence-transformers/all-MiniLM-L6-v2", "default"),
        ("", "default"),
    ],
)
def test_a_model_has_the_profile_of_its_name(model: str, profile: str) -> None:
    assert profile_of(model) == profile


def test_a_new_index_takes_the_profile_of_its_model(docs: Path) -> None:
    assert run(FakeIndex(), IndexRequest("docs", (docs,)))[1] == DEFAULT_PROFILE.name
    assert run(FakeIndex(), IndexRequest("docs", (docs,)), FakeE5())[1] == E5_PROFILE.name


def test_a_named_profile_stays_until_another_is_named(docs: Path) -> None:
    store, request = FakeIndex(), IndexRequest("docs", (docs,))
    assert run(store, IndexRequest("docs", (docs,), profile=E5_PROFILE.name))[1] == E5_PROFILE.name

    again, kept = run(store, request)
    assert (again.is_published, kept) == (False, E5_PROFILE.name)

    changed, profile = run(store, IndexRequest("docs", (docs,), profile="default"))
    assert (changed.is_published, changed.written, profile) == (True, 0, "default")
    assert changed.index_version.partition(".")[0] == again.index_version.partition(".")[0]


def test_another_model_brings_its_own_profile(docs: Path) -> None:
    store, request = FakeIndex(), IndexRequest("docs", (docs,))
    run(store, request)

    assert run(store, request, FakeE5())[1] == E5_PROFILE.name
    assert run(store, request)[1] == "default"


def test_another_tenant_does_not_change_the_profile(docs: Path) -> None:
    store = FakeIndex()
    run(store, IndexRequest("docs", (docs,), tenant="a", profile=E5_PROFILE.name))

    assert run(store, IndexRequest("docs", (docs,), tenant="b"))[1] == E5_PROFILE.name


def test_a_removal_keeps_the_profile_and_may_change_it(docs: Path) -> None:
    store = FakeIndex()
    run(store, IndexRequest("docs", (docs,), profile=E5_PROFILE.name))

    assert run(store, IndexRequest("docs", remove=("a.md",)))[1] == E5_PROFILE.name
    run(store, IndexRequest("docs", (docs,)))
    assert run(store, IndexRequest("docs", remove=("a.md",), profile="default"))[1] == "default"


def test_a_profile_of_a_team_may_be_named(docs: Path) -> None:
    store, request = FakeIndex(), IndexRequest("docs", (docs,), profile="mine")

    run_index(request, store, FakeEmbedder(), lambda *_: None, profiles=("default", "mine"))

    assert store.listings()[0].manifest.profile == "mine"


def test_an_unknown_profile_is_refused_before_anything_is_written(docs: Path) -> None:
    store = FakeIndex()

    with pytest.raises(ProfileUnknown, match="default, multilingual-e5-small"):
        run(store, IndexRequest("docs", (docs,), profile="nope"))

    assert store.listings() == []
