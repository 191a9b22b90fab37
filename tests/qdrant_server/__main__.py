"""
`python -m tests.qdrant_server`: the test server, told what to do on standard input.

Its first line is its port. Each line of input is a JSON list, the name of a method and its
arguments, or `["set", attribute, value]`; each line of output the JSON of what came of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import grpc

from tests.qdrant_server.server import TestServer


def main() -> None:
    """
    Serve until standard input ends.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key")
    parser.add_argument("--indexing-kilobytes", type=int)
    parser.add_argument("--compressed", action="store_true")
    chosen = parser.parse_args()
    with TestServer(
        chosen.api_key,
        folder=chosen.folder,
        port=chosen.port,
        indexing_kilobytes=chosen.indexing_kilobytes,
        is_recorded=False,
        is_compressed=chosen.compressed,
    ) as server:
        _say(server.port)
        for line in sys.stdin:
            _say(_told(server, *json.loads(line)))


def _told(server: TestServer, what: str, *arguments: Any) -> Any:
    if what == "set":
        name, value = arguments
        is_status = name == "refuse" and value is not None
        setattr(server, name, grpc.StatusCode[value] if is_status else value)
        return None
    if what in ("settle", "optimize"):
        for name in server.collections():
            getattr(server.collection(name), what)()
        return None
    return getattr(server, what)(*arguments)


def _say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
