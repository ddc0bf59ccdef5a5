"""The front end for .onnx files: networks in QDQ form, as ONNX Runtime's quantizer writes them."""

from ethosgen.host.extras import version_of
from ethosgen.values.network import Network
from ethosgen.values.source import Source

FORMAT = "onnx"
_IR_VERSION = 0x08
"""The tag of a file's first field, as all writers order them; protobuf has no identifier."""
_NEXT_FIELDS = frozenset(b"\x12\x1a\x22\x28\x32\x3a\x42\x72\xa2")


def recognizes(data: bytes) -> bool:
    """Return whether the bytes begin as an ONNX file does."""
    return (
        len(data) > 2 and data[0] == _IR_VERSION and 3 <= data[1] < 64 and data[2] in _NEXT_FIELDS
    )


def read(source: Source) -> Network:
    """Read an .onnx file."""
    from ethosgen.frontend.onnx.reader import read_network

    return read_network(source)


def versions() -> str:
    """Return the versions of the packages that read a file."""
    return ", ".join(map(version_of, ("onnx", "apache-tvm")))
