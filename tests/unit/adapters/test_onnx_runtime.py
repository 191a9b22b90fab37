from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOADED = """
import sys
from adapters.onnx_runtime import ort
ort.InferenceSession(sys.argv[1])
"""


def test_no_session_is_reported_to_the_maker_of_the_library(model_folder: Path) -> None:
    """
    Without a home to keep an identifier in, the library complains when it wants to report.
    """
    silent = ("CI", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS")
    environment = {name: value for name, value in os.environ.items() if name not in silent}

    run = subprocess.run(
        [sys.executable, "-c", LOADED, str(model_folder / "model.onnx")],
        env={**environment, "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "telemetry" not in run.stderr
