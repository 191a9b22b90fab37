"""
Who may ask for which tenant, by key.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from assembler.errors import CredentialsInvalid, TenantDenied

CallMetadata: TypeAlias = "Iterable[tuple[str, str | bytes]] | None"
SCHEME = "Bearer "


class Access:
    """
    Checks a call's key before anything is looked up. Without keys every call is allowed.
    """

    def __init__(self, tenants_by_key: Mapping[str, frozenset[str]] | None) -> None:
        self._tenants_by_key = tenants_by_key

    @classmethod
    def from_file(cls, path: Path | None) -> Access:
        """
        Return the access that a JSON file {key: [tenants]} gives.

        Raises:
            ValueError: The file is not of that form.
        """
        if path is None:
            return cls(None)
        content = json.loads(path.read_text(encoding="utf-8"))
        is_well_formed = isinstance(content, dict) and all(
            isinstance(tenants, list) and all(isinstance(tenant, str) for tenant in tenants)
            for tenants in content.values()
        )
        if not is_well_formed:
            msg = f"{path}: must be a JSON object of key to a list of tenants"
            raise ValueError(msg)
        return cls({key: frozenset(tenants) for key, tenants in content.items()})

    def check(self, metadata: CallMetadata, tenants: Iterable[str]) -> None:
        """
        Refuse a call whose key does not name every tenant, whether it exists or not.

        Raises:
            CredentialsInvalid: The call has no known key.
            TenantDenied: The key does not name a tenant.
        """
        if self._tenants_by_key is None:
            return
        given = next((value for key, value in metadata or () if key == "authorization"), "")
        text = given.decode("ascii", "replace") if isinstance(given, bytes) else given
        allowed = None
        for key, named in self._tenants_by_key.items():
            if hmac.compare_digest(text.encode(), (SCHEME + key).encode()):
                allowed = named
        if allowed is None:
            raise CredentialsInvalid("send a valid key as authorization: Bearer <key>")
        if not allowed.issuperset(tenants):
            raise TenantDenied("the key does not name this tenant")
