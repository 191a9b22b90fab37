"""
How many CPUs this process may count on.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Control groups version 2: microseconds of CPU per period, or `max`, and the period."""


def usable_cpus(requested: int | None = None, quota: Path = QUOTA) -> int:
    """
    Return the CPUs: what the pod requests, else its quota, else those it is bound to; at least 1.

    Args:
        requested: What the pod requests, where the deployment says so.
        quota: The control group's file.
    """
    bound = len(os.sched_getaffinity(0))
    if requested is not None:
        return max(min(requested, bound), 1)
    return max(min(_granted(quota) or bound, bound), 1)


def _granted(quota: Path) -> int | None:
    try:
        most, _, period = quota.read_text(encoding="ascii").partition(" ")
        return math.ceil(int(most) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return None
