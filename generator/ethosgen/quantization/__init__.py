"""From a float network to a quantized one: each format by the quantizer of its own world.

QUANTIZERS is the only place that lists them.
"""

from pathlib import Path

from ethosgen.quantization.scripts import Quantizer
from ethosgen.values.errors import InputError
from ethosgen.values.quantization import FLOAT, INTEGER

_HERE = Path(__file__).parent


def _checks_tflite(path: Path, _folder: Path) -> object:
    from ethosgen.frontend import read

    return read(path, "tflite")


def _checks_pt2(path: Path, folder: Path) -> object:
    """Copy what is safe to load: the archive without anything pickled."""
    from ethosgen.frontend import open_source
    from ethosgen.frontend.torch.archive import checked

    return (folder / "given.pt2").write_bytes(checked(open_source(path, "pt2")).archive())


QUANTIZERS: list[Quantizer] = [
    Quantizer(
        "ONNX",
        ".onnx",
        "onnxruntime",
        _HERE / "onnx.py",
        ("onnx", "onnxruntime"),
        extra="onnx",
        ends=(FLOAT, INTEGER),
    ),
    Quantizer(
        "TensorFlow Lite",
        ".tflite",
        "litert-quantizer",
        _HERE / "tflite.py",
        ("litert_quantizer",),
        extra="quantize",
        checks=_checks_tflite,
        ends=(INTEGER, FLOAT),
    ),
    Quantizer(
        "PyTorch",
        ".pt2",
        "torchao",
        _HERE / "torch.py",
        extra="torch",
        checks=_checks_pt2,
        ends=(FLOAT, INTEGER),
    ),
]

_PICKLED = (".pt", ".pth", ".ckpt", ".bin")


def find_quantizer(path: Path) -> Quantizer:
    """Return the quantizer for a file, by its suffix; InputError names those that there are."""
    suffix = path.suffix.lower()
    known = next((quantizer for quantizer in QUANTIZERS if quantizer.suffix == suffix), None)
    if known is not None:
        return known
    if suffix in _PICKLED:
        raise InputError(
            f"'{path}' looks like a pickled checkpoint, which can run any code, so ethosgen never "
            "opens one; save the network with "
            "torch.export.save(torch.export.export(model, inputs), 'NETWORK.pt2')"
        )
    formats = ", ".join(quantizer.suffix for quantizer in QUANTIZERS)
    raise InputError(f"'{path}' is in no format that ethosgen quantizes; it must end in: {formats}")
