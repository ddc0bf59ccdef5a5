"""Which networks a built firmware has, and whether they are a project's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.project import ProjectInfo, open_project
from ethosgen.project.manifest import MANIFEST
from ethosgen.toolchain import APART, Identity, find_identities


@dataclass(frozen=True)
class IdentityMatch:
    """A network of a firmware or of a project; a `difference` says how the two differ.

    `identity` is the firmware's, None if it lacks the network. `is_ours` says that the project has
    a network of this name.
    """

    name: str
    identity: Identity | None
    is_ours: bool
    difference: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the values for --json."""
        found = self.identity.as_json() if self.identity else {"name": self.name}
        return {**found, "in_project": self.is_ours, "difference": self.difference or None}


def identify(file: Path) -> tuple[Identity, ...]:
    """Return the networks of a firmware; InputError if it names none."""
    return find_identities(file)


def compare_with(identities: Sequence[Identity], place: Path) -> tuple[IdentityMatch, ...]:
    """Compare a firmware's networks with those of a project: its folder, or its manifest."""
    info = open_project(place.absolute().parent.parent if place.name == _FILE else place)
    expected = _expected(info)
    found = {identity.name for identity in identities}
    matches = [_match(identity, expected, info) for identity in identities]
    lacking = [
        IdentityMatch(name, None, True, "the firmware does not have this network")
        for name in expected
        if name not in found
    ]
    return (*matches, *lacking)


_FILE = Path(MANIFEST).name


def _expected(info: ProjectInfo) -> Mapping[str, str]:
    """Return the SHA-256 of each network's file, APART for a network that is not in the code."""
    paths = {
        network.name: network.source.resolve().relative_to(info.directory.resolve()).as_posix()
        for network in info.networks
    }
    return {
        network.name: APART if network.weights else info.files[paths[network.name]]
        for network in info.networks
    }


def _match(identity: Identity, expected: Mapping[str, str], info: ProjectInfo) -> IdentityMatch:
    if identity.name not in expected:
        return IdentityMatch(identity.name, identity, False)
    digest = expected[identity.name]
    difference = ""
    if not digest.startswith(identity.network):
        difference = f"the project has another network, {digest[: len(identity.network)]}"
    elif identity.build != info.digest:
        difference = f"the firmware was built from other sources: the project's are {info.digest}"
    return IdentityMatch(identity.name, identity, True, difference)
