"""Writes one of LiteRT's zip files of tests by LiteRT's own generator, unchanged.

    PYTHON tests/suites/litert_generation.py TREE FOLDER SET [PART]

PYTHON has TensorFlow (`ethosgen doctor --install keras`), TREE is a checkout of LiteRT, whose
generator imports its parts by the names of its own tree. TensorFlow's package has them, too.
One in PART combinations of the set's parameters is drawn, all by default.
"""

import itertools
import random
import runpy
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PARTS = {
    "tflite.python.lite": "tensorflow.lite.python.lite",
    "tflite.tools.flatbuffer_utils": "tensorflow.lite.tools.flatbuffer_utils",
}
"""Modules of LiteRT's tree, and where TensorFlow's package has them."""
SEED = 30
COUNTED = "Expected TF to fail"
"""Starts the generator's error about a number of failures; its number is for all combinations."""

Parameters = Mapping[str, Sequence[Any]]


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


def draw(groups: Sequence[Parameters], part: int) -> Iterator[Parameters]:
    """Yield one in `part` combinations of each group's values, at least one, as groups."""
    generator = random.Random(SEED)
    for group in groups:
        combinations = list(itertools.product(*group.values()))
        for values in generator.sample(combinations, -(-len(combinations) // part)):
            yield {name: [value] for name, value in zip(group, values, strict=True)}


def make_part(make: Callable[..., None], part: int) -> Callable[..., None]:
    """Return the generator's function for a set, so that it makes a drawn part."""

    def made_in_part(
        settings: object, groups: Sequence[Parameters], *others: object, **named: object
    ) -> None:
        try:
            make(settings, list(draw(groups, part)), *others, **named)
        except RuntimeError as error:
            if not str(error).startswith(COUNTED):
                raise

    return made_in_part


def main(tree: str, folder: str, name: str, part: str = "1") -> None:
    """Run the generator for a set, as LiteRT's build does for its quantizer."""
    provide(tree)
    if int(part) > 1:
        zips = import_module("tflite.testing.zip_test_utils")
        zips.make_zip_of_tests = make_part(zips.make_zip_of_tests, int(part))  # type: ignore[attr-defined]
    script = str(Path(tree) / "tflite" / "testing" / "generate_examples.py")
    sys.argv = [
        *(script, folder, "--zip_to_output", f"{name}.zip"),
        *("--mlir_quantizer", "--ignore_converter_errors"),
    ]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
