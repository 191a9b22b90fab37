"""
The image is built, holds what it should and nothing else, and serves as the pod would.

Run by `make deploy-test`, where podman is or can be installed.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import yaml
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from grpc_health.v1 import health_pb2, health_pb2_grpc

from deploy.stack.processes import free_ports
from server.bootstrap import READINESS
from tests.deploy.containers import IMAGE, LARGE_TMP, RESTRICTED, SMALL_TMP, Podman, missing
from tests.deploy.names import DEPLOY, ROOT

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(bool(missing()), reason=f"no image is built here; {missing()}"),
]
ASSETS = "/opt/context-assembler"
USER = 65532
PATIENCE_SECONDS = 120.0
DELAY_SECONDS = 8.0


@pytest.fixture(scope="module")
def podman(model_folder: Path, tokenizer_folder: Path) -> Iterator[Podman]:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    made = Podman()
    try:
        made.build(version)
        yield made
    finally:
        made.close()


def pod() -> dict[str, object]:
    deployment = yaml.safe_load((DEPLOY / "base" / "deployment.yaml").read_text())
    return dict(deployment["spec"]["template"]["spec"])


def test_the_image_says_who_runs_what_on_which_ports(podman: Podman) -> None:
    config = podman.config()
    (container,) = pod()["containers"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    labels = {
        name.removeprefix("org.opencontainers.image."): text
        for name, text in config["Labels"].items()
    }

    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == list(project["scripts"])
    assert config["Cmd"] == container["args"]
    assert set(config["ExposedPorts"]) == {
        f"{one['containerPort']}/tcp" for one in container["ports"]
    }
    assert labels["title"] == project["name"]
    assert labels["licenses"] == project["license"]
    assert labels["version"] == project["version"]
    assert labels["revision"] == "none"


def test_the_image_has_no_torch_no_installer_and_no_compiler(podman: Podman) -> None:
    done = podman.in_image(
        python="""
import importlib.util, json, shutil
modules = ("torch", "sentence_transformers", "onnx", "pip", "setuptools", "hatchling")
tools = ("gcc", "cc", "g++", "make", "ld", "pip")
print(json.dumps([
    [name for name in modules if importlib.util.find_spec(name)],
    [name for name in tools if shutil.which(name)],
    importlib.util.find_spec("server") is not None,
]))
"""
    )

    assert json.loads(done.stdout) == [[], [], True]


def test_the_image_has_the_model_and_the_tokenizers_that_were_checked(podman: Podman) -> None:
    done = podman.in_image(python=f"print(open('{ASSETS}/assets.sha256').read())")
    listed = dict(reversed(line.split("  ")) for line in done.stdout.split("\n") if line)
    folders = (ROOT / "var" / "models" / "all-minilm-l6-v2", ROOT / "var" / "tokenizers")
    expected = {
        str(path.relative_to(ROOT / "var")): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }

    assert listed == expected


def test_a_container_is_restricted_as_the_pod_is(podman: Podman) -> None:
    done = podman.in_image(
        python="""
import json, os
lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
try:
    open("/opt/context-assembler/new", "w")
except OSError as error:
    refused = error.errno
open("/tmp/new", "w").close()
print(json.dumps([os.getuid(), os.getgid(), int(lines["CapEff"], 16), int(lines["NoNewPrivs"]), refused]))
"""
    )

    assert json.loads(done.stdout) == [USER, USER, 0, 1, 30], done.stderr


def test_a_container_that_takes_too_much_memory_is_ended(podman: Podman) -> None:
    first = podman.in_image("--memory", "64m", python="print('ran')")
    if first.returncode:
        pytest.skip(f"no limit of memory can be set here: {first.stderr.strip()[-300:]}")

    done = podman.in_image("--memory", "64m", python="print(len(bytearray(300_000_000)))")

    assert first.stdout == "ran\n"
    assert done.returncode == 137, done.stderr


def test_the_container_answers_drains_and_ends_without_a_shell(
    podman: Podman, tmp_path: Path
) -> None:
    """
    Read-only but for its data and /tmp; the shell is covered by an empty file.
    """
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)
    port, health_port, metrics_port = free_ports(3)
    settings = {
        "HOST": "127.0.0.1",
        "PORT": port,
        "HEALTH_PORT": health_port,
        "METRICS_PORT": metrics_port,
        "DRAIN_DELAY_SECONDS": DELAY_SECONDS,
    }
    shared = (
        *RESTRICTED,
        *("--memory", "2g", "-v", "/dev/null:/bin/sh:ro"),
        *("-v", f"{data}:/var/lib/context-assembler"),
    )
    documents = ("-v", f"{ROOT / 'examples' / 'handbook'}:/documents:ro")
    podman.must(
        *("run", "--rm", "--network", "none", *LARGE_TMP, *shared, *documents),
        *(IMAGE, "index", "--index", "handbook", "/documents"),
    )
    variables = [f"CONTEXT_ASSEMBLER_{name}={value}" for name, value in settings.items()]
    podman.must(
        *("run", "--detach", "--name", "served", "--network", "host", *SMALL_TMP, *shared),
        *(part for one in variables for part in ("-e", one)),
        IMAGE,
    )
    ask = service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="Are fines paid back?")],
        targets=[service_pb.Target(index="handbook", scope=pb.Scope())],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=300),
    )
    asked = health_pb2.HealthCheckRequest(service=READINESS)
    address = f"127.0.0.1:{health_port}"
    with (
        grpc.insecure_channel(address) as channel,
        ContextAssemblerClient(f"127.0.0.1:{port}", timeout_seconds=PATIENCE_SECONDS) as client,
    ):
        grpc.channel_ready_future(channel).result(PATIENCE_SECONDS)
        states = health_pb2_grpc.HealthStub(channel).Watch(asked, timeout=PATIENCE_SECONDS)
        seen = (state.status for state in states)
        while next(seen) != health_pb2.HealthCheckResponse.SERVING:
            pass
        before = client.assemble_context(ask)
        podman.must("kill", "--signal", "TERM", "served")
        assert next(seen) == health_pb2.HealthCheckResponse.NOT_SERVING
        after = client.assemble_context(ask)
        code = podman.must("wait", "served").strip()
    log = podman.must("logs", "served")

    assert 0 < before.budget.context_tokens <= 300
    assert after.context == before.context
    assert code == "0", log
