"""
Mistakes planted in manifests are found.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.manifest_rules import faults
from tests.deploy.overlays import Objects, assembled, kind, needs_kubectl, objects


def without(path: str) -> Callable[[Objects], None]:
    def change(found: Objects) -> None:
        name, *steps, last = path.split(".")
        node = kind(found, name)
        for step in steps:
            node = node[int(step) if step.isdigit() else step]
        del node[int(last) if last.isdigit() else last]

    return change


def with_value(path: str, value: object) -> Callable[[Objects], None]:
    def change(found: Objects) -> None:
        name, *steps, last = path.split(".")
        node: Any = kind(found, name)
        for step in steps:
            node = node[int(step) if step.isdigit() else step]
        node[last] = value

    return change


def with_setting(name: str, value: str | None) -> Callable[[Objects], None]:
    def change(found: Objects) -> None:
        for one in found:
            if one["kind"] == "ConfigMap" and "CONTEXT_ASSEMBLER_QDRANT_URL" in one["data"]:
                del one["data"][f"CONTEXT_ASSEMBLER_{name}"]
                if value is not None:
                    one["data"][f"CONTEXT_ASSEMBLER_{name}"] = value

    return change


def as_a_job(found: Objects) -> None:
    """
    Put a Job in the place of what Jobs are made from.
    """
    cron = kind(found, INDEX)
    found.append({**cron, "kind": "Job", "spec": cron["spec"]["jobTemplate"]["spec"]})
    found.remove(cron)


POD = "Deployment.spec.template.spec"
INDEX, COLLECT = "CronJob/context-assembler-index", "CronJob/context-assembler-collect"
TASK = "spec.jobTemplate.spec.template.spec"
MISTAKES = [
    (with_value("Service.spec.selector", {"app": "other"}), "selects no pod"),
    (with_value("Service.spec.ports.0.targetPort", "http"), "no port"),
    (with_value(f"{POD}.containers.0.readinessProbe.grpc.service", "ready"), "probe"),
    (with_value(f"{POD}.containers.0.readinessProbe.grpc.port", 50051), "probe"),
    (with_value(f"{POD}.terminationGracePeriodSeconds", 20), "grace period"),
    (with_value(f"{POD}.securityContext.runAsNonRoot", "no"), "restricted"),
    (without(f"{POD}.enableServiceLinks"), "variables of Services"),
    (without(f"{POD}.containers.0.securityContext.capabilities"), "restricted"),
    (without(f"{POD}.containers.0.resources.limits"), "memory"),
    (with_value(f"{POD}.containers.0.envFrom.0.configMapRef.name", "other"), "no ConfigMap"),
    (with_value(f"{POD}.serviceAccountName", "default"), "no ServiceAccount"),
    (with_value("HorizontalPodAutoscaler.spec.minReplicas", 21), "minReplicas"),
    (with_value("HorizontalPodAutoscaler.spec.scaleTargetRef.name", "other"), "scales nothing"),
    (with_value("PodDisruptionBudget.spec.selector.matchLabels", {"a": "b"}), "selects no pod"),
    (with_value("PodMonitor.spec.podMetricsEndpoints.0.port", "http"), "no port"),
    (with_value("NetworkPolicy.spec.ingress.0.ports.0.port", "http"), "no port"),
    (without("NetworkPolicy.spec.egress"), "egress"),
    (without(f"{POD}.containers.0.volumeMounts.0"), "no volume holds"),
    (without(f"{INDEX}.{TASK}.containers.0.volumeMounts.2"), "no volume holds"),
    (without(f"{INDEX}.{TASK}.securityContext.runAsNonRoot"), "restricted"),
    (without(f"{COLLECT}.{TASK}.containers.0.volumeMounts.1"), "no volume holds"),
    (with_value(f"{COLLECT}.{TASK}.serviceAccountName", "other"), "no ServiceAccount other"),
    (without(f"{COLLECT}.{TASK}.containers.0.resources.limits"), "memory"),
    (as_a_job, "cannot be applied again"),
    (without(f"{INDEX}.spec.suspend"), "indexes beside a rollout"),
    (with_setting("QDRANT_REPLICAS", None), "one copy"),
    (with_setting("QDRANT_REPLICAS", "1"), "one copy"),
    (with_value("Deployment.spec.replicas", 2), "both own the replicas"),
]


@needs_kubectl
@pytest.mark.parametrize(("spoil", "said"), MISTAKES)
def test_a_planted_mistake_is_found(spoil: Callable[[Objects], None], said: str) -> None:
    found = copy.deepcopy(objects("prod-tls"))
    spoil(found)

    assert any(said in fault for fault in faults(found)), faults(found)


@needs_kubectl
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("Deployment.spec.replicas", 2), "both own the replicas"),
        (("ScaledObject.spec.minReplicaCount", 21), "minReplicaCount"),
        (("ScaledObject.spec.scaleTargetRef.name", "other"), "scales nothing"),
    ],
)
def test_a_planted_mistake_of_keda_is_found(
    change: tuple[str, object], said: str, tmp_path: Path
) -> None:
    found = assembled(tmp_path, "base", "keda")
    with_value(*change)(found)

    assert any(said in fault for fault in faults(found)), faults(found)
