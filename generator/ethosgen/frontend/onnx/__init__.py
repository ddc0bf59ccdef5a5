"""The front end for .onnx files: networks in QDQ form, as ONNX Runtime's quantizer writes them."""

from collections.abc import Mapping

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


def origin(source: Source) -> Mapping[str, str]:
    """Return an .onnx file's producer, its version, the opsets, and other facts in the file."""
    import onnx

    model = onnx.load_model_from_string(source.data)
    opsets = ((opset.domain or "ai.onnx", opset.version) for opset in model.opset_import)
    return {
        "producer": model.producer_name,
        "producer_version": model.producer_version,
        "opset": ", ".join(f"{domain} {version}" for domain, version in sorted(opsets)),
        "ir_version": str(model.ir_version),
        **{f"says:{entry.key}": entry.value for entry in model.metadata_props},
    }


def versions() -> str:
    """Return the versions of the packages that read a file."""
    return ", ".join(map(version_of, ("onnx", "apache-tvm")))
