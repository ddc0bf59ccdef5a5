"""The networks of a built firmware, compared with a project's, and the weights that it accepts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.flow.weights import codes_of, read_file
from ethosgen.project import ProjectInfo, open_project
from ethosgen.project.manifest import MANIFEST
from ethosgen.project.weights_file import SUFFIX, Weights, WeightsCode, WeightsError
from ethosgen.toolchain import APART, Identity, find_identities
from ethosgen.values.errors import InputError
from ethosgen.values.status import Status


@dataclass(frozen=True)
class WeightsMatch:
    """Whether code accepts a file of weights, as ethosgen_weights_check() decides on the device.

    `weights` is the file's content if it is accepted. Else `status` is what the C returns, `field`
    the first member of the file's header that decides, and `difference` a sentence.
    """

    file: Path
    weights: Weights | None
    status: Status = Status.OK
    field: str = ""
    difference: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the values for --json."""
        return {
            "file": str(self.file),
            "network": self.weights.network if self.weights else None,
            "code": self.weights.digest if self.weights else None,
            "revision": self.weights.revision if self.weights else None,
            "status": self.status.c_name,
            "field": self.field or None,
            "difference": self.difference or None,
        }


@dataclass(frozen=True)
class IdentityMatch:
    """A network of a firmware or of a project; a `difference` says how the two differ.

    `identity` is the firmware's, None if it lacks the network. `is_ours` means that the project has
    a network of this name. `weights` is the answer for a file of weights, which then gives the
    name.
    """

    name: str
    identity: Identity | None
    is_ours: bool
    difference: str = ""
    weights: WeightsMatch | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the values for --json."""
        if self.weights:
            return self.weights.as_json()
        facts = self.identity.as_json() if self.identity else {"name": self.name}
        return {**facts, "in_project": self.is_ours, "difference": self.difference or None}


def answer(
    file: Path, project: Path | None = None, weights: Path | None = None
) -> tuple[IdentityMatch, ...]:
    """Identify a firmware, and match it with a project or with weights; or identify weights."""
    if file.suffix == SUFFIX:
        if weights is not None:
            raise InputError(
                f"'{file}' is itself a file of weights; name a firmware and one file of weights"
            )
        return (weights_for_project(file, project) if project else weights_alone(file),)
    identities = find_identities(file)
    alone = (IdentityMatch(identity.name, identity, False) for identity in identities)
    matches = tuple(alone) if project is None else compare_with(identities, project)
    return matches if weights is None else (*matches, weights_for_firmware(weights, identities))


def compare_with(identities: Sequence[Identity], place: Path) -> tuple[IdentityMatch, ...]:
    """Compare a firmware's networks with those of a project: its folder, or its manifest."""
    info = _open(place)
    expected = _expected(info)
    names = {identity.name for identity in identities}
    matches = [_match(identity, expected, info) for identity in identities]
    lacking = [
        IdentityMatch(name, None, True, "the firmware does not have this network")
        for name in expected
        if name not in names
    ]
    return (*matches, *lacking)


def is_weights(file: Path) -> bool:
    """Return whether a file's name says that it has weights apart from the code."""
    return file.suffix == SUFFIX


def weights_for_project(file: Path, place: Path) -> IdentityMatch:
    """Return whether the code of a project accepts a file of weights."""
    return _accept(file, codes_of(_open(place)))


def weights_for_firmware(file: Path, identities: Sequence[Identity]) -> IdentityMatch:
    """Return whether a firmware accepts a file of weights; InputError if it reads none."""
    codes = tuple(code for identity in identities for code in identity.codes)
    if not codes:
        names = ", ".join(identity.name for identity in identities)
        raise InputError(
            f"the firmware reads no file of weights: {names} has them in the code, or a linker has "
            "split what it compares with a file; compare the file with the project: ethosgen "
            "identify NAME.weights --project PROJECT"
        )
    return _accept(file, codes)


def weights_alone(file: Path) -> IdentityMatch:
    """Return the identity of a file of weights; InputError if it is damaged."""
    return IdentityMatch(file.name, None, False, "", WeightsMatch(file, read_file(file)))


def _accept(file: Path, codes: Sequence[WeightsCode]) -> IdentityMatch:
    try:
        match = WeightsMatch(file, read_file(file, codes))
    except WeightsError as error:
        match = WeightsMatch(file, None, error.status, error.field, str(error))
    return IdentityMatch(file.name, None, True, match.difference, match)


def _open(place: Path) -> ProjectInfo:
    return open_project(place.absolute().parent.parent if place.name == _FILE else place)


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
