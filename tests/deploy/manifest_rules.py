"""
What schemas do not tell: whether manifests fit each other, the server, and a restricted pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from server.bootstrap import LIVENESS, READINESS
from server.settings import Settings

Manifest: TypeAlias = "dict[str, Any]"

PROBES = {"startupProbe": READINESS, "readinessProbe": READINESS, "livenessProbe": LIVENESS}
RESTRICTED_POD = ("runAsNonRoot", True)
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def faults(objects: list[Manifest]) -> list[str]:
    """
    Return what is wrong with the objects of one installation.
    """
    by_kind: dict[str, list[Manifest]] = {}
    for one in objects:
        by_kind.setdefault(one["kind"], []).append(one)
    (deployment,) = by_kind["Deployment"]
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    config = {one["metadata"]["name"]: one.get("data", {}) for one in by_kind["ConfigMap"]}
    return [
        *_selectors(by_kind, deployment, pod),
        *_ports(by_kind, container),
        *_probes(container),
        *_references(by_kind, pod, container, config),
        *_files(container, config, every=True),
        *(fault for task in _tasks(by_kind) for fault in _task(task, by_kind, config)),
        *_ends(pod, container, config),
        *_restricted(pod, container),
        *_scaling(by_kind, deployment),
        *_network(by_kind),
        *_applied_again(by_kind),
        *_copies(config),
    ]


def _tasks(by_kind: dict[str, list[Manifest]]) -> list[Manifest]:
    """
    Return the pods of CronJobs.
    """
    return [one["spec"]["jobTemplate"]["spec"]["template"] for one in by_kind.get("CronJob", [])]


def _task(
    pod: Manifest, by_kind: dict[str, list[Manifest]], config: dict[str, Manifest]
) -> Iterator[str]:
    (container,) = pod["spec"]["containers"]
    own_claims = [
        {"metadata": {"name": one["persistentVolumeClaim"]["claimName"]}}
        for one in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in one  # the documents' volume is not ours to make
    ]
    yield from _references({**by_kind, "PersistentVolumeClaim": own_claims}, pod, container, config)
    yield from _files(container, config, every=False)
    yield from _restricted(pod, container)


def _selectors(
    by_kind: dict[str, list[Manifest]], deployment: Manifest, pod: Manifest
) -> list[str]:
    labels = pod["metadata"]["labels"]
    asked = [("Deployment", deployment["spec"]["selector"]["matchLabels"])]
    asked += [("Service", one["spec"]["selector"]) for one in by_kind["Service"]]
    for kind in ("PodDisruptionBudget", "PodMonitor"):
        found = by_kind.get(kind, [])
        asked += [(kind, one["spec"]["selector"]["matchLabels"]) for one in found]
    asked += [
        ("topologySpreadConstraints", one["labelSelector"]["matchLabels"])
        for one in pod["spec"].get("topologySpreadConstraints", [])
    ]
    jobs = [one["metadata"]["labels"] for one in _tasks(by_kind)]
    policies = [
        one["spec"]["podSelector"]["matchLabels"] for one in by_kind.get("NetworkPolicy", [])
    ]
    return [
        f"{kind} selects no pod" for kind, wanted in asked if not wanted.items() <= labels.items()
    ] + [
        "NetworkPolicy selects no pod"
        for wanted in policies
        if not any(wanted.items() <= one.items() for one in (labels, *jobs))
    ]


def _ports(by_kind: dict[str, list[Manifest]], container: Manifest) -> Iterator[str]:
    names = {one["name"] for one in container["ports"]}
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    numbers = {one["name"]: one["containerPort"] for one in container["ports"]}
    own = {"grpc": "port", "health": "health_port", "metrics": "metrics_port"}
    if numbers != {name: defaults[setting] for name, setting in own.items()}:
        yield "the container's ports are not the server's"
    if any(one["spec"].get("clusterIP") != "None" for one in by_kind["Service"]):
        yield "the Service is not headless, so that clients cannot balance"
    asked = [port["targetPort"] for one in by_kind["Service"] for port in one["spec"]["ports"]]
    for one in by_kind.get("PodMonitor", []):
        asked += [endpoint["port"] for endpoint in one["spec"]["podMetricsEndpoints"]]
    for one in by_kind.get("NetworkPolicy", []):
        asked += [port["port"] for rule in one["spec"].get("ingress", []) for port in rule["ports"]]
    yield from (f"no port {port} at the container" for port in asked if port not in names)


def _probes(container: Manifest) -> Iterator[str]:
    (health,) = (one["containerPort"] for one in container["ports"] if one["name"] == "health")
    for probe, service in PROBES.items():
        if container[probe]["grpc"] != {"port": health, "service": service}:
            yield f"{probe}: the probe asks for what the server does not tell"


def _references(
    by_kind: dict[str, list[Manifest]],
    pod: Manifest,
    container: Manifest,
    config: dict[str, Manifest],
) -> Iterator[str]:
    for source in container["envFrom"]:
        if source["configMapRef"]["name"] not in config:
            yield f"no ConfigMap {source['configMapRef']['name']}"
    accounts = {one["metadata"]["name"] for one in by_kind["ServiceAccount"]}
    if pod["spec"]["serviceAccountName"] not in accounts:
        yield f"no ServiceAccount {pod['spec']['serviceAccountName']}"
    claims = {one["metadata"]["name"] for one in by_kind.get("PersistentVolumeClaim", [])}
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    for mount in container["volumeMounts"]:
        if mount["name"] not in volumes:
            yield f"no volume {mount['name']}"
    for volume in volumes.values():
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and claim["claimName"] not in claims:
            yield f"no PersistentVolumeClaim {claim['claimName']}"


def _files(container: Manifest, config: dict[str, Manifest], *, every: bool) -> Iterator[str]:
    """
    Find files that settings name and no volume holds; a Job needs those towards Qdrant only.
    """
    mounted = [f"{one['mountPath']}/" for one in container["volumeMounts"]]
    prefix = "CONTEXT_ASSEMBLER_" if every else "CONTEXT_ASSEMBLER_QDRANT_"
    for data in config.values():
        for name, path in data.items():
            is_held = any(path.startswith(folder) for folder in mounted)
            if name.startswith(prefix) and name.endswith("_FILE") and not is_held:
                yield f"{container['name']}: no volume holds {path}"


def _ends(pod: Manifest, container: Manifest, config: dict[str, Manifest]) -> Iterator[str]:
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    values = [data for data in config.values() if "CONTEXT_ASSEMBLER_DRAIN_SECONDS" in data]
    names = ("CONTEXT_ASSEMBLER_DRAIN_DELAY_SECONDS", "CONTEXT_ASSEMBLER_DRAIN_SECONDS")
    drain = max((sum(float(one[name]) for name in names) for one in values), default=0.0)
    if pod["spec"]["terminationGracePeriodSeconds"] <= sleep + drain:
        yield "the grace period is not longer than sleep and drain"


def _restricted(pod: Manifest, container: Manifest) -> Iterator[str]:
    asked = pod["spec"]["securityContext"]
    name, value = RESTRICTED_POD
    if asked.get(name) is not value or asked.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "the pod is not restricted"
    if container["securityContext"] != RESTRICTED:
        yield "the container is not restricted"
    if pod["spec"].get("automountServiceAccountToken") is not False:
        yield "the pod is not restricted: it mounts a token that it has no use for"
    if pod["spec"].get("enableServiceLinks") is not False:
        yield "the pod takes variables of Services, which settings would read"
    resources = container["resources"]
    memory = resources.get("requests", {}).get("memory")
    if memory is None or resources.get("limits", {}).get("memory") != memory:
        yield "memory: request and limit differ"


SCALERS = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount"),
}
"""Who owns the number of pods, and how it names the least and the most."""


def _scaling(by_kind: dict[str, list[Manifest]], deployment: Manifest) -> Iterator[str]:
    for name, (least, most) in SCALERS.items():
        for one in by_kind.get(name, []):
            spec = one["spec"]
            if not 1 <= spec[least] <= spec[most]:
                yield f"{name}: {least} above {most}"
            if spec["scaleTargetRef"]["name"] != deployment["metadata"]["name"]:
                yield f"{name} scales nothing that there is"
            if "replicas" in deployment["spec"]:
                yield f"the Deployment and the {name} both own the replicas"
    for one in by_kind.get("PodDisruptionBudget", []):
        if ("minAvailable" in one["spec"]) == ("maxUnavailable" in one["spec"]):
            yield "PodDisruptionBudget: one of minAvailable and maxUnavailable"


def _network(by_kind: dict[str, list[Manifest]]) -> Iterator[str]:
    for one in by_kind.get("NetworkPolicy", []):
        if set(one["spec"]["policyTypes"]) != {"Ingress", "Egress"}:
            yield "NetworkPolicy: does not restrict both directions"
        if not one["spec"].get("egress"):
            yield "NetworkPolicy: no egress is allowed, Qdrant included"


def _applied_again(by_kind: dict[str, list[Manifest]]) -> Iterator[str]:
    """
    Find what cannot be applied again with another image or setting, or runs beside its rollout.
    """
    if "Job" in by_kind:
        yield "a Job's template is immutable: it cannot be applied again"
    for one in by_kind.get("CronJob", []):
        (container,) = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        if container["args"][0] == "index" and one["spec"].get("suspend") is not True:
            yield f"CronJob {one['metadata']['name']}: indexes beside a rollout"


def _copies(config: dict[str, Manifest]) -> Iterator[str]:
    """
    Find indexes that are gone with one node of a cluster.
    """
    for data in config.values():
        is_server = "CONTEXT_ASSEMBLER_QDRANT_URL" in data
        if is_server and int(data.get("CONTEXT_ASSEMBLER_QDRANT_REPLICAS", 1)) < 2:
            yield "Qdrant keeps one copy of every shard"
