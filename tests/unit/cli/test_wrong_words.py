"""
Words of the command line that say nothing it can do: refused by name, before anything is done.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.records import Retention
from assembler.errors import InvalidRequest
from cli.main import main
from server.settings import Settings

Run = Callable[..., tuple[int, str]]
NOT_UTF8 = os.fsdecode(b"caf\xe9")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """
    Return a function that runs a command and returns its exit code and what it printed.
    """
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("CONTEXT_ASSEMBLER_DATA_DIR", str(tmp_path / "data"))

    def command(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["context-assembler", *words])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        code = end.value.code
        assert isinstance(code, int)
        return code, shown.out + shown.err

    return command


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("index", ".", "--index", "a", "--readers", "maybe"), ("--readers", "required")),
        (("index", ".", "--index", "a", "--tenant", NOT_UTF8), ("--tenant", "character 4")),
        (("index", ".", "--index", "a", "--version", NOT_UTF8), ("--version", "not UTF-8")),
        (("source", NOT_UTF8, "--index", "a"), ("source_id", "not UTF-8")),
        (("ask", "x", NOT_UTF8, "--index", "a", "--budget", "5"), ("question", "not UTF-8")),
        (("ask", "x", "--index", "a", "--budget", "9" * 20), ("--budget", "2147483647")),
        (
            ("ask", "x", "--index", "a", "--budget", "5", "--versions", "pinned"),
            ("--versions", "'pinned' is not one of active, all"),
        ),
        (
            ("ask", "x", "--index", "a", "--budget", "5", "--api-key", "ümlaut"),
            ("--api-key", "printable ASCII"),
        ),
        (("windows", "--tokens", "9" * 400, "--size", "1"), ("--tokens", "9223372036854775807")),
    ],
)
def test_a_word_that_cannot_be_is_refused_by_name(
    run: Run, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    code, shown = run(*words)

    assert code == 2
    assert all(part in shown for part in parts), shown


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--language", "klingonish"), "language: 'klingonish' is not a BCP 47 tag"),
        (("--tenant", "x" * 1025), "tenant: has 1025 characters"),
        (("--version", ""), "version: is empty"),
        (("--field", "n:int64", "--field", "n:bool"), "field: n is given twice"),
    ],
)
def test_a_run_that_cannot_be_writes_nothing(
    run: Run, tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    code, shown = run("index", str(tmp_path), "--index", "a", *words)

    assert code == 1
    assert problem in shown
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_retention_is_a_finite_time(run: Run, value: str) -> None:
    code, shown = run("indexes", "gc", "--index", "a", "--retired-seconds", value)

    assert code == 1
    assert "retired_seconds: is" in shown
    with pytest.raises(InvalidRequest, match="retired_seconds"):
        Retention(1, float(value))


@pytest.mark.parametrize("value", ["nan", "0.1,inf", "x"])
def test_values_to_try_are_finite(run: Run, value: str) -> None:
    code, shown = run("tune", "--index", "a", "--questions", "q.jsonl", "--values", value)

    assert (code, "values: must be finite numbers" in shown) == (1, True)


def test_files_are_counted_as_they_are_indexed(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tokenizer_folder: Path
) -> None:
    monkeypatch.setenv("CONTEXT_ASSEMBLER_TOKENIZER_DIR", str(tokenizer_folder))
    (tmp_path / "utf8.txt").write_bytes(b"\xef\xbb\xbfhello")
    (tmp_path / "utf16.txt").write_bytes("hello".encode("utf-16"))
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"hello")))

    good = run("count", "-", str(tmp_path / "utf8.txt"), str(tmp_path / "utf16.txt"))
    bad = run("count", str(tmp_path / "latin1.txt"))

    assert [line.split()[0] for line in good[1].splitlines()] == ["1", "1", "1", "3"]
    assert bad[0] == 1
    assert "latin1.txt: is not utf-8 at byte 3" in bad[1]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("DEFAULT_DEADLINE_SECONDS", "inf", "finite"),
        ("MAX_WAIT_SECONDS", "nan", "finite"),
        ("QDRANT_TIMEOUT_SECONDS", "inf", "finite"),
        ("QDRANT_OVERSAMPLING", "inf", "finite"),
        ("MAX_CONNECTION_AGE_SECONDS", "1e300", "less than or equal to 1000000"),
        ("MAX_MESSAGE_BYTES", "9999999999", "less than or equal to 2147483647"),
        ("MORE_MODEL_DIRS", "x", "must be a JSON list of folders"),
        ("MORE_MODEL_DIRS", "3", "must be a JSON list of folders"),
        ("MORE_MODEL_DIRS", '["a", ""]', "must be a JSON list of folders"),
        ("MORE_MODEL_DIRS", "", "must be a JSON list of folders"),
        ("MORE_MODEL_DIRS", "[3]", "Input is not a valid path"),
        ("PORT", "70000", "less than or equal to 65535"),
        ("HOST", "", "is empty; leave it out, or name an address"),
        ("API_KEYS_FILE", "", "is empty; leave it out, or name a file"),
        ("PROFILES_FILE", "", "is empty; leave it out, or name a file"),
        ("ATTACHED_FILE", " ", "is empty; leave it out, or name a file"),
        ("TLS_KEY_FILE", "", "is empty; leave it out, or name a file"),
        ("QDRANT_CA_FILE", "", "is empty; leave it out, or name a file"),
        ("CHAT_ANSWERS_FILE", "", "is empty; leave it out, or name a file"),
        ("DATA_DIR", "", "is empty; leave it out, or name a folder"),
        ("MODEL_DIR", "", "is empty; leave it out, or name a folder"),
        ("TOKENIZER_DIR", "", "is empty; leave it out, or name a folder"),
        ("QDRANT_URL", "http://h:99999", "must read http(s)://host[:port], with the gRPC port"),
        ("QDRANT_URL", "http://h:0", "must read http(s)://host[:port], with the gRPC port"),
        ("QDRANT_URL", "http://h:x", "must read http(s)://host[:port], with the gRPC port"),
        ("QDRANT_URL", "http://[::1", "must read http(s)://host[:port], with the gRPC port"),
        ("QDRANT_URL", "http://h:1\n", "must read http(s)://host[:port], with the gRPC port"),
        ("QDRANT_URL", "http://h:1/foo", "has a path or more after the port"),
        ("QDRANT_URL", "http://h:1?a=b", "has a path or more after the port"),
        ("QDRANT_URL", "http://user:word@h:1", "give the key in qdrant_api_key"),
        ("EMBEDDER_URL", "foo", "must read http(s)://host[:port]"),
        ("RERANKER_URL", "http://h:99999", "must read http(s)://host[:port]"),
        ("CHAT_URL", "ftp://h", "must read http(s)://host[:port]"),
        ("QDRANT_API_KEY", "secret\n", "ends with a line end, as a Secret made from a file"),
        ("QDRANT_API_KEY", "secr\u00e4t", "keys are printable ASCII"),
        ("EMBEDDER_API_KEY", "sec\nret", "keys are printable ASCII"),
        ("RERANKER_API_KEY", "secret ", "begins or ends with a space"),
        ("CHAT_API_KEY", "secret\r\n", "ends with a line end"),
        ("QDRANT_READ_CONSISTENCY", "0", "greater than 0; Input should be 'majority'"),
    ],
)
def test_a_setting_that_cannot_be_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    monkeypatch.setenv(f"CONTEXT_ASSEMBLER_{name}", value)

    code, shown = run("serve")

    assert code == 2
    assert shown.startswith(f"error: CONTEXT_ASSEMBLER_{name}: ")
    assert problem in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"embedder_url": "http://h"}, "EMBEDDER_MODEL"),
        ({"reranker": "tei"}, "RERANKER_URL"),
        ({"reranker": "cohere"}, "RERANKER_MODEL"),
        ({"tls_key_file": "k"}, "TLS_CERTIFICATE_FILE"),
        ({"tls_certificate_file": "c"}, "TLS_KEY_FILE"),
        ({"tls_client_ca_file": "a"}, "TLS_CERTIFICATE_FILE"),
        (
            {"tls_client_ca_file": "a", "tls_certificate_file": "c", "tls_key_file": "k"},
            "API_KEYS_FILE",
        ),
        ({"attached_file": "a.toml"}, "ATTACHED_FILE"),
        ({"qdrant_ca_file": "ca.pem"}, "QDRANT_CA_FILE"),
        (
            {"qdrant_url": "https://h", "qdrant_client_key_file": "k.pem"},
            "QDRANT_CLIENT_CERT_FILE",
        ),
        ({"qdrant_url": "https://h", "qdrant_ca_file": "/no/ca.pem"}, "QDRANT_CA_FILE"),
        ({"qdrant_write_consistency": "2"}, "QDRANT_WRITE_CONSISTENCY"),
        ({"qdrant_write_consistency": "1", "qdrant_replicas": "2"}, "QDRANT_WRITE_CONSISTENCY"),
        ({"qdrant_hnsw_m": "0"}, "QDRANT_HNSW_PAYLOAD_M"),
        ({"qdrant_oversampling": "2"}, "QDRANT_OVERSAMPLING"),
    ],
)
def test_settings_that_do_not_go_together_are_told_by_the_name_of_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], named: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"CONTEXT_ASSEMBLER_{name.upper()}", value)

    code, shown = run("serve")

    assert code == 2
    assert shown.startswith(f"error: CONTEXT_ASSEMBLER_{named}: ")
    assert "Value error" not in shown
    assert shown.count("\n") == 1


def test_an_error_is_one_line_however_narrow_the_place(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("CONTEXT_ASSEMBLER_HOST", "")

    said = "is empty; leave it out, or name an address, such as 127.0.0.1 or ::1"
    assert run("serve") == (2, f"error: CONTEXT_ASSEMBLER_HOST: {said}\n")


@pytest.mark.parametrize("name", [".", "missing"])
def test_a_service_does_not_start_without_a_tokenizer(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("CONTEXT_ASSEMBLER_TOKENIZER_DIR", str(tmp_path / name))

    code, shown = run("serve")

    assert code == 1
    assert (
        f"error: CONTEXT_ASSEMBLER_TOKENIZER_DIR: {tmp_path / name} is missing or holds no tokenizer"
        in shown
    )
    assert "`context-assembler tokenizers`" in shown


@pytest.mark.parametrize(
    ("variable", "value", "more"),
    [
        ("MODEL_DIR", "{}", {}),
        ("MORE_MODEL_DIRS", '["{}"]', {}),
        ("PROFILES_FILE", "{}", {}),
        ("API_KEYS_FILE", "{}", {}),
        ("ATTACHED_FILE", "{}", {"QDRANT_URL": "http://127.0.0.1:1"}),
    ],
)
def test_what_is_missing_is_told_with_the_variable_that_names_it(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    model_folder: Path,
    tokenizer_folder: Path,
    variable: str,
    value: str,
    more: dict[str, str],
) -> None:
    missing = tmp_path / "missing"
    given = {"MODEL_DIR": model_folder, "TOKENIZER_DIR": tokenizer_folder, "DATA_DIR": tmp_path}
    for name, text in {**given, **more, variable: value.format(missing)}.items():
        monkeypatch.setenv(f"CONTEXT_ASSEMBLER_{name}", str(text))

    code, shown = run("serve")

    assert code == 1
    assert shown.startswith(f"error: CONTEXT_ASSEMBLER_{variable}: {missing}")


def test_help_shows_brackets_and_every_choice(run: Run) -> None:
    assert "Name, [a-z0-9-]{1,40}." in run("index", "--help")[1]
    assert "hybrid, dense, sparse or coarse_to_fine" in run("ask", "--help")[1]


def test_further_models_are_a_json_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_ASSEMBLER_MORE_MODEL_DIRS", '["a", "b"]')

    assert Settings().more_model_dirs == (Path("a"), Path("b"))
