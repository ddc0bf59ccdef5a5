"""From a float network to a quantized one: each format with its own framework's quantizer.

QUANTIZERS is the only list of them.
"""

from pathlib import Path

from ethosgen.host.child import ChildError
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from ethosgen.quantization.scripts import LIMIT_S, Quantizer
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.quantization import FLOAT, INTEGER

_HERE = Path(__file__).parent


def _checks_tflite(path: Path, folder: Path) -> object:
    from ethosgen.frontend import read

    read(path, "tflite")
    return (folder / "given.tflite").write_bytes(path.read_bytes())


def _checks_keras(path: Path, folder: Path) -> object:
    """Convert to .tflite; LiteRT's quantizer reads the result."""
    target = folder / "given.tflite"
    request = {"source": str(path), "folder": str(folder), "target": str(target)}
    try:
        run_script(ENVIRONMENTS["keras"], _HERE / "keras.py", "convert", request, limit_s=LIMIT_S)
    except ChildError as error:
        refused = error.how == "refused"
        said = str(error) if refused else f"TensorFlow cannot convert '{path}': {error}"
        raise (InputError if refused else UnsupportedError)(said) from None
    return target


def is_saved_model(path: Path) -> bool:
    """Return whether a folder is a SavedModel."""
    return (path / "saved_model.pb").is_file()


def _checks_pt2(path: Path, folder: Path) -> object:
    """Copy the parts that are safe to load: the archive without pickles."""
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
        "Keras",
        ".keras",
        "litert-quantizer",
        _HERE / "tflite.py",
        ("litert_quantizer",),
        extra="quantize",
        checks=_checks_keras,
        ends=(INTEGER, FLOAT),
        written=".tflite",
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

_OLD_KERAS = (".h5", ".hdf5")
_PICKLED = (".pt", ".pth", ".ckpt", ".bin")


def find_quantizer(path: Path) -> Quantizer:
    """Return the quantizer for a file, by its suffix; InputError names the existing ones."""
    suffix = ".keras" if is_saved_model(path) else path.suffix.lower()
    known = next((quantizer for quantizer in QUANTIZERS if quantizer.suffix == suffix), None)
    if known is not None:
        return known
    if suffix in _PICKLED:
        raise InputError(
            f"'{path}' looks like a pickled checkpoint, which can run any code, so ethosgen never "
            "opens one; save the network with "
            "torch.export.save(torch.export.export(model, inputs), 'NETWORK.pt2')"
        )
    if suffix in _OLD_KERAS:
        raise InputError(
            f"'{path}' is in Keras's old format; load it with keras.models.load_model, and save it "
            "with model.save('NETWORK.keras')"
        )
    formats = ", ".join(quantizer.suffix for quantizer in QUANTIZERS)
    raise InputError(
        f"'{path}' is in no format that ethosgen quantizes; it must end in: {formats}; or be the "
        "folder of a SavedModel"
    )
