"""
What the check after a read drops, and what of it counts as denied.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.scope_gate import ScopeGate
from assembler.filters import Condition, Filter, IntRange
from assembler.model import Provenance
from assembler.scope import IndexVersion, ReadScope, Scope

OLD = Provenance("acme", "a.md", "1", "0", ("staff",), 1, fields={"year": 2025})
ASKED = Scope(
    tenant="acme",
    principals=("staff",),
    source_ids=("a.md",),
    filter=Filter(all_of=(Condition("fields.year", IntRange(at_least=2026)),)),
)


@pytest.mark.parametrize(
    ("record", "is_admitted", "is_denied"),
    [
        (replace(OLD, fields={"year": 2026}), True, False),
        (OLD, False, False),
        (replace(OLD, tenant="other"), False, True),
        (replace(OLD, readers=("boss",)), False, True),
        (replace(OLD, source_id="b.md"), False, True),
        (replace(OLD, from_rev=2), False, True),
    ],
)
def test_what_the_filter_alone_refuses_is_not_denied(
    record: Provenance, is_admitted: bool, is_denied: bool
) -> None:
    gate = ScopeGate(ReadScope("docs", IndexVersion("g", 1), readers_required=False, asked=ASKED))

    assert (gate.admits(record), gate.is_denied(record)) == (is_admitted, is_denied)
