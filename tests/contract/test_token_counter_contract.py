"""
Token counters against the libraries' own encodings: nothing is cut, padded, skipped or guessed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from adapters.ordinary_count import count_ordinary
from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from assembler.errors import ContextAssemblerError, InvalidRequest, TokenizerUnknown
from assembler.ports import ChatMessage, TokenCounter
from tests.counters import CharCounter, JoinCounter
from tests.fakes import WordCounter

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
NAMES = ("cl100k_base", "hf:deepseek", "o200k_base", "o200k_harmony")
BEGIN, END = (f"<\uff5c{word}\u2581of\u2581sentence\uff5c>" for word in ("begin", "end"))
LITERALS = ("<|endoftext|>", "<|im_start|>", "<|start|>", BEGIN, "[SEP]")
KNOWN_CHARACTERS = st.characters(exclude_categories=["Cn"])
"""Two pattern engines agree on these only: their tables of Unicode differ in age."""
PARTS = (*LITERALS, "  ", "\r\n", "'s", *" \n\t\u3000\x1c\x85\u017f1a")
UNKNOWN = ("", "gpt2", "text-davinci-003", "llama", "O200K_BASE", "deepseek", "hf:", "hf:llama")
PATHS = ("hf:..", "hf:../tokenizers/deepseek", "hf:deepseek/", "hf:deepseek/../deepseek", "hf:/etc")
FAKES: list[TokenCounter] = [WordCounter(), CharCounter(), JoinCounter()]

texts = st.text() | st.lists(st.sampled_from(PARTS) | st.text(max_size=3)).map("".join)
thorough = settings(max_examples=300, deadline=None)

Reference = Callable[[str], int]


@pytest.fixture(scope="module")
def counters(tokenizer_folder: Path) -> TokenizerFolder:
    return TokenizerFolder(tokenizer_folder)


@pytest.fixture(scope="module")
def references(
    tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Reference]:
    # the libraries' own counts, loaded the way the libraries load: tiktoken from its cache
    cache = tmp_path_factory.mktemp("cache")
    for name in ("cl100k_base", "o200k_base"):
        key = hashlib.sha1(ADDRESS.format(name).encode(), usedforsecurity=False).hexdigest()
        shutil.copy(tokenizer_folder / f"{name}.tiktoken", cache / key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        found = {name: _of_tiktoken(name) for name in NAMES if not name.startswith("hf:")}
    tokenizer = Tokenizer.from_file(str(tokenizer_folder / "deepseek" / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    found["hf:deepseek"] = lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    return found


def _of_tiktoken(name: str) -> Reference:
    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))


class TestEveryCounter:
    @pytest.fixture(params=[*FAKES, *NAMES])
    def counter(self, request: pytest.FixtureRequest, counters: TokenizerFolder) -> TokenCounter:
        wanted: str | TokenCounter = request.param
        return counters.get(wanted) if isinstance(wanted, str) else wanted

    def test_nothing_counts_nothing_and_words_count_something(self, counter: TokenCounter) -> None:
        assert counter.count("") == 0
        assert counter.count("the refund policy") > 0

    def test_a_count_is_the_same_each_time_and_in_any_thread(self, counter: TokenCounter) -> None:
        given = [f"Refunds, part {number}: {'word ' * number}\n\n" for number in range(40)]
        alone = [counter.count(text) for text in given]

        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(counter.count, given * 5))

        assert together == alone * 5

    def test_messages_count_more_than_their_contents_or_are_refused(
        self, counter: TokenCounter
    ) -> None:
        messages = [ChatMessage("system", "Be brief."), ChatMessage("user", "Why?")]
        contents = sum(counter.count(message.content) for message in messages)

        if counter.name == "hf:deepseek":
            with pytest.raises(InvalidRequest) as caught:
                counter.count_messages(messages)
            assert caught.value.field == "budget.prompt_window.messages"
        else:
            assert counter.count_messages(messages) > contents


class TestCounts:
    @pytest.mark.parametrize("name", NAMES)
    @given(text=texts)
    @example(text="")
    @example(text="e\u0301 👩‍👩‍👧‍👦 🇩🇪 \ufeff\0")
    @thorough
    def test_a_count_is_the_length_of_the_librarys_own_encoding(
        self, counters: TokenizerFolder, references: dict[str, Reference], name: str, text: str
    ) -> None:
        assert counters.get(name).count(text) == references[name](text)

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("literal", LITERALS)
    def test_a_special_token_that_a_text_spells_is_plain_text(
        self, counters: TokenizerFolder, name: str, literal: str
    ) -> None:
        assert counters.get(name).count(literal) > 1

    @pytest.mark.parametrize("name", NAMES)
    def test_a_lone_surrogate_counts_as_the_replacement_character_and_nul_counts(
        self, counters: TokenizerFolder, name: str
    ) -> None:
        counter = counters.get(name)

        assert counter.count("a\ud800b") == counter.count("a\ufffdb")
        assert counter.count("\ud83d\ude00") == counter.count("\U0001f600")
        assert counter.count("\0") > 0

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("text", ["a" * 300_000, " " * 300_000 + "x", "👍" * 100_000])
    def test_text_without_a_border_takes_seconds_at_most(
        self, counters: TokenizerFolder, name: str, text: str
    ) -> None:
        started = time.perf_counter()

        assert counters.get(name).count(text) > 1

        assert time.perf_counter() - started < 10

    @pytest.mark.parametrize("name", NAMES)
    def test_a_million_blanks_are_counted(self, counters: TokenizerFolder, name: str) -> None:
        counter = counters.get(name)

        assert counter.count(" " * 1_000_000 + "x") > counter.count(" " * 500_000 + "x") > 1000

    @pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
    @given(text=st.lists(st.sampled_from(PARTS) | KNOWN_CHARACTERS).map("".join))
    @thorough
    def test_counting_by_piece_is_equal_to_counting_at_once(
        self, references: dict[str, Reference], name: str, text: str
    ) -> None:
        encoding = tiktoken.get_encoding(name)
        assert name in references

        assert count_ordinary(encoding, text + "  ", 2) == references[name](text + "  ")


class TestNames:
    def test_all_that_is_there_is_named_and_found_with_its_hash(
        self, counters: TokenizerFolder
    ) -> None:
        assert counters.names() == NAMES
        assert all(len(counters.get(name).sha256) == 64 for name in NAMES)
        assert counters.get("o200k_harmony").sha256 == counters.get("o200k_base").sha256

    @pytest.mark.parametrize(
        ("model", "encoding"),
        [
            ("gpt-4o", "o200k_base"),
            ("gpt-4o-2024-08-06", "o200k_base"),
            ("gpt-5-mini", "o200k_base"),
            ("gpt-4", "cl100k_base"),
            ("gpt-oss-120b", "o200k_harmony"),
        ],
    )
    def test_a_model_of_tiktokens_table_resolves_to_its_encoding(
        self, counters: TokenizerFolder, model: str, encoding: str
    ) -> None:
        assert counters.get(model).name == encoding

    @pytest.mark.parametrize("name", [*UNKNOWN, *PATHS])
    def test_an_unknown_name_is_an_error_that_lists_what_is_there(
        self, counters: TokenizerFolder, name: str
    ) -> None:
        with pytest.raises(TokenizerUnknown) as caught:
            counters.get(name)

        assert caught.value.known == NAMES

    def test_an_empty_folder_knows_nothing(self, tmp_path: Path) -> None:
        assert TokenizerFolder(tmp_path / "none").names() == ()


def deepseek_at(folder: Path, source: Path, config: dict[str, object] | None = None) -> Tokenizer:
    folder.mkdir(parents=True)
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return Tokenizer.from_file(str(source / "deepseek" / "tokenizer.json"))


class TestMessages:
    @pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
    def test_openais_rule_is_three_per_message_one_per_name_and_three_for_the_reply(
        self, counters: TokenizerFolder, name: str
    ) -> None:
        counter = counters.get(name)
        messages = [ChatMessage("system", "Be brief."), ChatMessage("user", "Why?", "ada")]

        words = sum(counter.count(text) for text in ("system", "Be brief.", "user", "Why?", "ada"))

        assert counter.count_messages(messages) == words + 2 * 3 + 1 + 3

    def test_a_tokenizer_without_a_template_asks_for_frame_tokens(
        self, counters: TokenizerFolder
    ) -> None:
        with pytest.raises(InvalidRequest, match="frame_tokens"):
            counters.get("hf:deepseek").count_messages([ChatMessage("user", "Why?")])

    def test_a_prompt_is_rendered_whole_with_its_own_special_tokens(
        self, tmp_path: Path, tokenizer_folder: Path
    ) -> None:
        template = (
            "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'tool' %}"
            "{{ raise_exception('no tools') }}{% endif %}{{ m['role'] }}: {{ m['content'] }}"
            "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
        )
        config = {"bos_token": {"content": BEGIN}, "eos_token": END, "chat_template": template}
        tokenizer = deepseek_at(tmp_path / "chat", tokenizer_folder, config)
        tokenizer.save(str(tmp_path / "chat" / "tokenizer.json"))
        counter = TokenizerFolder(tmp_path).get("hf:chat")

        counted = counter.count_messages([ChatMessage("user", "{{ 1 + 1 }} Why?")])

        prompt = f"{BEGIN}user: {{{{ 1 + 1 }}}} Why?{END}assistant:"
        assert counted == len(tokenizer.encode(prompt, add_special_tokens=False).ids)
        with pytest.raises(InvalidRequest, match="no tools"):
            counter.count_messages([ChatMessage("tool", "x")])


class TestFiles:
    def test_a_tokenizer_set_to_cut_and_pad_counts_right(
        self, tmp_path: Path, tokenizer_folder: Path, counters: TokenizerFolder
    ) -> None:
        tokenizer = deepseek_at(tmp_path / "cut", tokenizer_folder)
        tokenizer.enable_truncation(128)
        tokenizer.enable_padding(length=64)
        tokenizer.save(str(tmp_path / "cut" / "tokenizer.json"))

        counter = TokenizerFolder(tmp_path).get("hf:cut")

        assert counter.count("a") == 1
        whole = counters.get("hf:deepseek").count("word " * 900)
        assert counter.count("word " * 900) == whole > 900

    def test_a_folder_whose_name_is_no_tokenizers_name_is_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "Not A Name").mkdir()
        (tmp_path / "Not A Name" / "tokenizer.json").write_text("{}")

        assert TokenizerFolder(tmp_path).names() == ()

    @pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff"])
    def test_a_damaged_tokenizer_is_named(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "broken").mkdir()
        (tmp_path / "broken" / "tokenizer.json").write_bytes(content)

        with pytest.raises(ContextAssemblerError, match="hf:broken"):
            TokenizerFolder(tmp_path)

    def test_damaged_ranks_are_named_and_installing_again_repairs_them(
        self, tmp_path: Path
    ) -> None:
        install_tokenizers(tmp_path)
        (tmp_path / "o200k_base.tiktoken").write_bytes(b"IQ== 0\n")
        with pytest.raises(ContextAssemblerError, match=r"o200k_base\.tiktoken"):
            TokenizerFolder(tmp_path)

        install_tokenizers(tmp_path)

        assert TokenizerFolder(tmp_path).names() == NAMES

    def test_installing_twice_writes_nothing_and_leaves_nothing_behind(
        self, tmp_path: Path
    ) -> None:
        install_tokenizers(tmp_path)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

        install_tokenizers(tmp_path)

        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
        assert len(before) == 5
