"""The identifiers of .pte and .bpte files."""

FORMAT = "pte"
IDENTIFIER = b"ET12"
BUNDLE_IDENTIFIER = b"BP08"


def recognizes(data: bytes) -> bool:
    """Return whether the bytes have the identifier of .pte files, or of bundles of one."""
    return data[4:8] in (IDENTIFIER, BUNDLE_IDENTIFIER)


def is_bundle(data: bytes) -> bool:
    """Return whether the bytes are a program with test cases."""
    return data[4:8] == BUNDLE_IDENTIFIER
