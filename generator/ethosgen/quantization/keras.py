"""Converts Keras models and SavedModels to float .tflite files with TensorFlow's converter.

It runs in the environment keras, as a script; LiteRT's quantizer does the rest (`tflite.py`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.lite.tools import flatbuffer_utils

from ethosgen.values.errors import InputError

Answer = tuple[dict[str, Any], dict[str, Any]]

_SIGNATURES = ("serving_default", "serve")
_LONGEST = 300
"""The number of characters that are quoted of TensorFlow's own error."""


def convert(request: Mapping[str, Any], _arrays: Mapping[str, Any], _folder: Path) -> Answer:
    """Write the .tflite file, whose batch is 1, to the path `target`; `folder` is for others."""
    source, folder = Path(request["source"]), Path(request["folder"])
    if source.is_file():
        _export(source, folder / "saved")
    signature, loaded = _signature(source, folder / "saved" if source.is_file() else source)
    specs = _specs(source, signature)

    def computed(*values: Any) -> Any:
        return signature(**dict(zip(specs, values, strict=True)))

    function = tf.function(computed, autograph=False).get_concrete_function(*specs.values())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], loaded)
    try:
        content = converter.convert()
    except Exception as error:
        raise InputError(
            f"TensorFlow's converter cannot convert '{source}': {_words(error)}"
        ) from None
    Path(request["target"]).write_bytes(_named(content))
    return {}, {}


def _export(source: Path, folder: Path) -> None:
    """Write a Keras model as a SavedModel; Keras runs no code from a file."""
    try:
        model = tf.keras.models.load_model(source, compile=False)
        model.export(folder, verbose=False)
    except Exception as error:
        raise InputError(
            f"'{source}' cannot be loaded by Keras {tf.keras.__version__} alone: {_words(error)}; "
            "if it has layers of your own, or Lambda, write it with model.export('FOLDER') where "
            "they are defined, and pass that folder"
        ) from None


def _signature(source: Path, folder: Path) -> tuple[Any, Any]:
    """Return the function of a SavedModel, and the object that holds its variables."""
    try:
        loaded = tf.saved_model.load(folder)
        signatures = loaded.signatures
    except Exception as error:
        raise InputError(f"'{source}' is no valid SavedModel: {_words(error)}") from None
    known = [name for name in (*_SIGNATURES, *signatures) if name in signatures]
    if not known:
        raise InputError(
            f"'{source}' has no signature to convert; write it with model.export('FOLDER')"
        )
    return signatures[known[0]], loaded


def _specs(source: Path, signature: Any) -> dict[str, Any]:
    """Return each input with its shape, for one sample."""
    specs = {}
    for name, spec in signature.structured_input_signature[1].items():
        sizes = None if spec.shape.rank is None else spec.shape.as_list()
        if sizes and sizes[0] is None:
            sizes[0] = 1
        if sizes is None or None in sizes:
            raise InputError(
                f"input '{name}' of '{source}' leaves sizes open ({spec.shape}), but an NPU needs "
                "them fixed; build the model with a keras.Input that has all of them"
            )
        specs[name] = tf.TensorSpec(sizes, spec.dtype, name)
    return specs


def _named(content: bytes) -> bytes:
    """Return the file with the signature's names of inputs and outputs, which nothing else uses."""
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    (signature,) = model.signatureDefs
    for entry in (*signature.inputs, *signature.outputs):
        model.subgraphs[signature.subgraphIndex].tensors[entry.tensorIndex].name = entry.name
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def _words(error: BaseException) -> str:
    """Return TensorFlow's message in one line; Keras puts the cause after all its attempts."""
    said = str(error).rpartition("Exception encountered: ")[2]
    text = " ".join(said.split()).rstrip(".") or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
