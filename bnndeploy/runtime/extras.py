"""Which extras of the package are installed."""

from __future__ import annotations

import importlib.metadata
import re

from bnndeploy.runtime.wheels import package_version

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^]]*)\])?[^;]*;.*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]"
)


def missing_packages() -> dict[str, list[str]]:
    """Returns, for every extra, its packages that are not installed; an empty list is complete.

    Versions are not compared, that is pip's part. Without installed metadata (a bare checkout)
    the answer is empty.
    """
    try:
        distribution = importlib.metadata.distribution("bnndeploy")
    except importlib.metadata.PackageNotFoundError:
        return {}
    packages: dict[str, list[str]] = {
        extra: [] for extra in distribution.metadata.get_all("Provides-Extra") or []
    }
    included: dict[str, list[str]] = {extra: [] for extra in packages}
    for requirement in distribution.requires or []:
        match = _REQUIREMENT.match(requirement)
        if not match or match["extra"] not in packages:
            continue
        if match["name"] == "bnndeploy":
            included[match["extra"]] += [name.strip() for name in match["extras"].split(",")]
        else:
            packages[match["extra"]].append(match["name"])
    return {
        extra: [
            name
            for name in dict.fromkeys(_collect(extra, packages, included))
            if not package_version(name)
        ]
        for extra in packages
    }


def _collect(
    extra: str, packages: dict[str, list[str]], included: dict[str, list[str]]
) -> list[str]:
    """The packages of an extra and of the extras that it includes."""
    names = list(packages.get(extra, []))
    for other in included.get(extra, []):
        names += _collect(other, packages, included)
    return names
