"""
The file of callers: its form, what it allows, and how it is read again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import structlog
from contextassembler.v1 import context_pb2 as pb
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from assembler.errors import CredentialsInvalid, PrincipalsDenied, TenantDenied
from server.access import Access
from server.callers import ANYONE, Caller, CallersInvalid, key_sha256, parse_callers
from server.metrics import Metrics

SECRET = "a-key-that-nobody-may-see-in-a-log"
OLD = {SECRET: ["acme"]}
GOOD = {"name": "chat", "key_sha256": key_sha256(SECRET), "tenants": ["acme", ""]}
PLACE = Path("callers.json")


def content(*entries: Any) -> bytes:
    return json.dumps({"callers": entries}).encode()


def access_of(path: Path | None) -> Access:
    metrics = Metrics(CollectorRegistry(), version="0", methods=[], tokenizers=[], inflight_limit=1)
    return Access(path, metrics, structlog.get_logger())


def reloads(access: Access) -> tuple[float, float, float]:
    """
    Return how many changes were taken over and refused, and whether an old file serves.
    """
    value = access._metrics.registry.get_sample_value
    name = "context_assembler_callers_reloads_total"
    changed = value(name, {"outcome": "changed"})
    refused = value(name, {"outcome": "refused"})
    stale = value("context_assembler_callers_stale")
    assert changed is not None
    assert refused is not None
    assert stale is not None
    return changed, refused, stale


def test_the_hash_is_that_of_any_sha256_tool() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    assert key_sha256("") == empty


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b'"x"', "is not a JSON object"),
        (b"{}", "callers: Field required"),
        (json.dumps(OLD).encode(), "keys hash"),
        (content({**GOOD, "key": SECRET}), "callers.0.key: Extra inputs"),
        (content({**GOOD, "key_sha256": SECRET}), "callers.0.key_sha256: String should match"),
        (content({**GOOD, "key_sha256": GOOD["key_sha256"].upper()}), "callers.0.key_sha256"),
        (content({**GOOD, "certificate": "dns:a"}), "either key_sha256 or certificate"),
        (content({"name": "a", "tenants": []}), "either key_sha256 or certificate"),
        (content({"name": "a", "tenants": [], "certificate": "a.test"}), "callers.0.certificate"),
        (content({"name": "a", "tenants": [], "certificate": "dns:"}), "callers.0.certificate"),
        (content({**GOOD, "tenants": "acme"}), "callers.0.tenants: Input should be a valid array"),
        (content({**GOOD, "tenants": [1]}), "callers.0.tenants.0"),
        (content({**GOOD, "may_set_principals": "yes"}), "callers.0.may_set_principals"),
        (content({**GOOD, "name": ""}), "callers.0.name"),
        (content(GOOD, {**GOOD, "name": "again"}), "callers.1: the same is named twice"),
    ],
)
def test_a_file_of_another_form_is_refused_and_no_key_repeated(broken: bytes, says: str) -> None:
    with pytest.raises(CallersInvalid) as caught:
        parse_callers(PLACE, broken)

    assert says in str(caught.value)
    assert str(caught.value).startswith("callers.json: ")
    assert SECRET not in str(caught.value)


def test_an_empty_list_lets_nobody_in() -> None:
    callers = parse_callers(PLACE, content())

    assert not callers.by_key
    assert not callers.by_certificate


def test_a_caller_reads_the_tenants_that_it_names_and_no_others() -> None:
    (caller,) = parse_callers(PLACE, content(GOOD)).by_key.values()

    caller.check([pb.Scope(tenant="acme"), pb.Scope()])
    caller.check([])
    for tenant in ("*", "acm", "acme ", "ACME"):
        with pytest.raises(TenantDenied):
            caller.check([pb.Scope(tenant="acme"), pb.Scope(tenant=tenant)])


def test_principals_even_none_of_them_need_the_right_to_set_them() -> None:
    nobody = pb.Scope(tenant="acme", principals=pb.Principals())
    plain = Caller("a", frozenset({"acme"}), may_set_principals=False)
    allowed = Caller("a", frozenset({"*"}), may_set_principals=True)

    allowed.check([nobody])
    with pytest.raises(PrincipalsDenied):
        plain.check([nobody])


def test_without_a_file_everyone_may_call() -> None:
    access = access_of(None)
    access.refresh()

    assert access.caller_of(None, {}) is ANYONE
    ANYONE.check([pb.Scope(tenant="any", principals=pb.Principals(values=["x"]))])


@pytest.mark.parametrize(
    ("certificate", "peer"),
    [
        ("dns:chat.test", {"peer_dns": [b"other.test", b"chat.test"]}),
        ("uri:spiffe://test/chat", {"peer_uri": [b"spiffe://test/chat"]}),
        ("email:chat@test", {"peer_email": [b"chat@test"]}),
        ("ip:10.0.0.1", {"peer_ip": [b"10.0.0.1"]}),
        ("subject:CN=chat,O=Tests", {"x509_subject": [b"CN=chat,O=Tests"]}),
    ],
)
def test_a_certificate_is_known_by_the_kind_of_name_that_the_entry_gives(
    tmp_path: Path, certificate: str, peer: dict[str, list[bytes]]
) -> None:
    path = tmp_path / "callers.json"
    path.write_bytes(content({"name": "chat", "certificate": certificate, "tenants": ["*"]}))
    access = access_of(path)
    (names,) = peer.values()

    assert access.caller_of((), peer).name == "chat"
    with pytest.raises(CredentialsInvalid):
        access.caller_of((), {"x509_common_name": names, "x509_pem_cert": names})
    with pytest.raises(CredentialsInvalid):
        access.caller_of((("authorization", "Bearer bad"),), peer)


def test_a_broken_file_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(CallersInvalid, match=r"missing\.json: cannot be read: No such file"):
        access_of(tmp_path / "missing.json")


def test_a_change_is_taken_over_and_a_broken_one_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "callers.json"
    path.write_bytes(content(GOOD))
    access, key = access_of(path), (("authorization", f"Bearer {SECRET}"),)
    access.refresh()
    assert reloads(access) == (0, 0, 0)

    with capture_logs() as logs:
        path.write_bytes(b"{")
        access.refresh()
        access.refresh()
        path.unlink()
        access.refresh()
    assert access.caller_of(key, {}).name == "chat"
    assert reloads(access) == (0, 2, 1)
    assert [one["log_level"] for one in logs] == ["error", "error"]

    path.write_bytes(content(GOOD))
    access.refresh()
    assert reloads(access) == (0, 2, 0)

    path.write_bytes(content({**GOOD, "name": "renamed"}))
    access.refresh()
    assert access.caller_of(key, {}).name == "renamed"
    assert reloads(access) == (1, 2, 0)

    path.write_bytes(content())
    access.refresh()
    with pytest.raises(CredentialsInvalid):
        access.caller_of(key, {})
