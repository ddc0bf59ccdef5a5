"""`sbom.spdx.json`: a library's materials in SPDX 2.3.

Nothing in it comes from a clock or from chance: equal libraries have equal bills.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

from ethosgen.backend.protocol import OutsideCode
from ethosgen.host.resources import resource_folder
from ethosgen.project.licences import LATER, NO_CLAIM
from ethosgen.project.materials import ETHOSGEN, LibraryFile, Materials, NetworkMaterial
from ethosgen.version import __version__

_CREATED = "1970-01-01T00:00:00Z"
"""The format demands a time; the real one would make equal libraries differ."""
_UNKNOWN = "NOASSERTION"
_DOCUMENT = "SPDXRef-DOCUMENT"
_LIBRARY = "SPDXRef-library"


def spdx(materials: Materials) -> bytes:
    """Return the bill's text."""
    content = {
        "packages": list(_packages(materials)),
        "files": [_file(file) for file in materials.files],
        "relationships": [
            {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}
            for element, kind, other in _relationships(materials)
        ],
        "hasExtractedLicensingInfos": [
            {
                "licenseId": NO_CLAIM,
                "name": "No claim by ethosgen",
                "extractedText": (resource_folder("LICENSES") / f"{NO_CLAIM}.txt").read_text(),
            }
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    head = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": _DOCUMENT,
        "name": materials.name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{materials.name}-{serial}",
        "creationInfo": {"created": _CREATED, "creators": [f"Tool: {ETHOSGEN.name}-{__version__}"]},
    }
    return (json.dumps({**head, **content}, indent=1) + "\n").encode()


def _packages(materials: Materials) -> Iterator[dict[str, Any]]:
    yield {
        **_package(_LIBRARY, materials.name, materials.build, "LIBRARY", NO_CLAIM),
        "filesAnalyzed": True,
        "packageVerificationCode": {
            "packageVerificationCodeValue": _verification(materials),
            "packageVerificationCodeExcludedFiles": [f"./{file}" for file in LATER],
        },
        "licenseInfoFromFiles": sorted({file.licence or _UNKNOWN for file in materials.files}),
    }
    for network in materials.networks:
        yield {
            **_package(_network_id(network), network.name, network.sha256, "FILE", NO_CLAIM),
            "checksums": [{"algorithm": "SHA256", "checksumValue": network.sha256}],
            "packageFileName": network.file,
            "sourceInfo": "; ".join(f"{name}: {fact}" for name, fact in network.facts.items()),
        }
    for code in materials.outside:
        yield {
            **_package(_outside_id(code), code.name, None, "LIBRARY", code.licence),
            "summary": code.title,
            "homepage": code.address or _UNKNOWN,
        }
    for tool, version in materials.tools:
        yield {
            **_package(_tool_id(tool), tool.name, version, "APPLICATION", tool.licence),
            "summary": tool.title,
            "homepage": tool.address or _UNKNOWN,
        }


def _verification(materials: Materials) -> str:
    """Return the code over all files that SPDX 2.3 defines in 7.9."""
    sums = "".join(sorted(file.sha1 for file in materials.files))
    return hashlib.sha1(sums.encode("ascii"), usedforsecurity=False).hexdigest()


def _package(
    spdx_id: str, name: str, version: str | None, purpose: str, licence: str
) -> dict[str, Any]:
    return {
        "SPDXID": spdx_id,
        "name": name,
        **({"versionInfo": version} if version else {}),
        "primaryPackagePurpose": purpose,
        "downloadLocation": _UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": _UNKNOWN,
        "licenseDeclared": _UNKNOWN if licence in ("", NO_CLAIM) else licence,
        "copyrightText": _UNKNOWN,
    }


def _file(file: LibraryFile) -> dict[str, Any]:
    return {
        "SPDXID": _file_id(file),
        "fileName": f"./{file.path}",
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": file.sha1},
            {"algorithm": "SHA256", "checksumValue": file.sha256},
        ],
        "licenseConcluded": file.licence or _UNKNOWN,
        "licenseInfoInFiles": [file.licence or _UNKNOWN],
        "copyrightText": _UNKNOWN,
    }


def _relationships(materials: Materials) -> Iterator[tuple[str, str, str]]:
    yield _DOCUMENT, "DESCRIBES", _LIBRARY
    for file in materials.files:
        yield _LIBRARY, "CONTAINS", _file_id(file)
    for network in materials.networks:
        yield _LIBRARY, "GENERATED_FROM", _network_id(network)
    for code in materials.outside:
        if code.is_optional:
            yield _outside_id(code), "OPTIONAL_DEPENDENCY_OF", _LIBRARY
        else:
            yield _LIBRARY, "DEPENDS_ON", _outside_id(code)
    for tool, _ in materials.tools:
        yield _tool_id(tool), "BUILD_TOOL_OF", _LIBRARY


def _file_id(file: LibraryFile) -> str:
    return f"SPDXRef-file-{_plain(file.path)}"


def _network_id(network: NetworkMaterial) -> str:
    return f"SPDXRef-network-{_plain(network.name)}"


def _outside_id(code: OutsideCode) -> str:
    return f"SPDXRef-outside-{_plain(code.name)}"


def _tool_id(tool: OutsideCode) -> str:
    return f"SPDXRef-tool-{_plain(tool.name)}"


def _plain(text: str) -> str:
    """Return a text with only the characters of identifiers, still unique."""
    return re.sub(r"[^A-Za-z0-9.]", lambda match: f"-{ord(match[0]):x}-", text)
