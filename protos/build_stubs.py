"""
Write the Python stubs beside the protos, at install and by `python protos/build_stubs.py`.
"""

from __future__ import annotations

import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Any

PROTOS = Path(__file__).parent
STUBS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")


def build() -> list[Path]:
    """
    Generate every stub; return the files.

    Raises:
        RuntimeError: The compiler refused a proto, or a plugin of it is missing.
    """
    from grpc_tools import protoc  # noqa: PLC0415 - only there while building

    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.glob("**/*.proto"))
    well_known = str(resources.files("grpc_tools") / "_proto")
    code = protoc.main(
        [
            "protoc",
            f"--proto_path={PROTOS}",
            f"--proto_path={well_known}",
            _plugin("protoc-gen-mypy"),
            _plugin("protoc-gen-mypy_grpc"),
            f"--python_out={PROTOS}",
            f"--mypy_out=quiet:{PROTOS}",
            f"--grpc_python_out={PROTOS}",
            f"--mypy_grpc_out=quiet:{PROTOS}",
            *sources,
        ]
    )
    if code:
        msg = f"protoc ended with code {code}"
        raise RuntimeError(msg)
    return sorted(path for pattern in STUBS for path in PROTOS.glob(f"**/{pattern}"))


def _plugin(name: str) -> str:
    """
    Return the option that names a plugin, found also where its environment is not activated.
    """
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        msg = f"{name} is not there; install mypy-protobuf"
        raise RuntimeError(msg)
    return f"--plugin={name}={found}"


def get_build_hook() -> type[Any]:
    """
    Return the hatchling hook class.
    """
    from hatchling.builders.hooks.plugin.interface import (  # noqa: PLC0415 - only while building
        BuildHookInterface,
    )

    class StubsHook(BuildHookInterface[Any]):
        """
        Generates the stubs before a wheel or an editable install is made.
        """

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the hook's signature
            """
            Generate them and add them to the wheel, though git ignores them.
            """
            root = PROTOS.parent
            build_data["artifacts"] += [f"/{path.relative_to(root)}" for path in build()]

    return StubsHook


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in build())
