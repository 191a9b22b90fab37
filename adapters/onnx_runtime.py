"""
ONNX Runtime with its telemetry off: from 1.29 on, its builds for Linux report every session to
their maker unless the environment forbids it before the library is loaded.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort

__all__ = ["ort"]
