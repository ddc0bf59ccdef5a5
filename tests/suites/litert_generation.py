"""Writes one of LiteRT's zip files of tests by LiteRT's own generator, unchanged.

    PYTHON tests/suites/litert_generation.py TREE FOLDER SET

PYTHON has TensorFlow (`ethosgen doctor --install keras`), TREE is a checkout of LiteRT, whose
generator imports its parts by the names of its own tree. TensorFlow's package has them, too.
"""

import runpy
import struct
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PARTS = {
    "tflite.python.lite": "tensorflow.lite.python.lite",
    "tflite.tools.flatbuffer_utils": "tensorflow.lite.tools.flatbuffer_utils",
}
"""Modules of LiteRT's tree, and where TensorFlow's package has them."""


def strings_as_hex(strings: Sequence[Any]) -> bytes:
    """Return a TFLite tensor of strings in hexadecimal digits (string_util.h).

    It holds the number of strings, their offsets, the total size, and the characters.
    """
    texts = [text if isinstance(text, bytes) else str(text).encode() for text in strings]
    offsets = [4 * (len(texts) + 2)]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    packed = struct.pack(f"<{len(offsets) + 1}i", len(texts), *offsets) + b"".join(texts)
    return packed.hex().encode()


def provide(tree: str) -> None:
    """Make LiteRT's names importable."""
    package = ModuleType("tflite")
    package.__path__ = [str(Path(tree) / "tflite")]
    sys.modules["tflite"] = package
    for name, place in PARTS.items():
        folder, _, last = name.rpartition(".")
        sys.modules.setdefault(folder, ModuleType(folder))
        sys.modules[name] = import_module(place)
        setattr(sys.modules[folder], last, sys.modules[name])
    unused = ModuleType("tflite.python.test_util")  # for an option that LiteRT's build leaves out
    sys.modules[unused.__name__] = unused
    sys.modules["tflite.python"].test_util = unused  # type: ignore[attr-defined]
    strings = ModuleType("tflite.testing._pywrap_string_util")
    strings.SerializeAsHexString = strings_as_hex  # type: ignore[attr-defined]
    sys.modules[strings.__name__] = strings


def main(tree: str, folder: str, name: str) -> None:
    """Run the generator for a set, as LiteRT's build does for its quantizer."""
    provide(tree)
    script = str(Path(tree) / "tflite" / "testing" / "generate_examples.py")
    sys.argv = [
        *(script, folder, "--zip_to_output", f"{name}.zip"),
        *("--mlir_quantizer", "--ignore_converter_errors"),
    ]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
