"""The declared dialect, against the schema's published classes: no field missing or misplaced."""

import importlib
import re
from typing import Any

import pytest
import tflite
from ethosu.vela import tflite_mapping

from ethosgen.values.dialect import CODES, ENUMERATIONS, OPS, TEXT, OptionsTable

TABLES = {op.table.name: op.table for op in OPS.values() if op.table}
PLACEHOLDER = 127
"""A number for readers of the older field, and no operator."""
ENUMERATED = {
    "Padding": "Padding",
    "Activation": "ActivationFunctionType",
    "MirrorPad": "MirrorPadMode",
    "WeightsFormat": "FullyConnectedOptionsWeightsFormat",
    "LstmKernel": "LSTMKernelType",
    "Projection": "LSHProjectionType",
    "Combiner": "CombinerType",
    "CustomFormat": "CustomOptionsFormat",
    "RngAlgorithm": "RngAlgorithm",
    "ReduceFunction": "ReduceWindowFunction",
    "Comparison": "StablehloComparisonDirection",
    "ComparisonType": "StablehloComparisonType",
    "TensorType": "TensorType",
}


class Recorder:
    """Stands in for a builder, and records what the schema's functions ask of it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, arguments))


def _numbers(enumeration: str) -> dict[int, str]:
    members = vars(getattr(tflite, enumeration)).items()
    return {number: name for name, number in members if not name.startswith("_")}


def _fields(table: str) -> dict[str, tuple[str, int, Any]]:
    """Return the fields of the schema's class: name → type, slot, default."""
    module, fields = importlib.import_module(f"tflite.{table}"), {}
    for function in vars(module):
        if match := re.fullmatch(rf"{table}Add(\w+)", function):
            recorder = Recorder()
            getattr(module, function)(recorder, 1)
            ((called, (slot, _, default)),) = recorder.calls
            word = called.removeprefix("Prepend").removesuffix("Slot")
            fields[match[1]] = (word, slot, default)
    return fields


def _getter(option: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in option.split("_"))


def test_every_operator_has_its_number() -> None:
    assert {n: name for n, name in _numbers("BuiltinOperator").items() if n != PLACEHOLDER} == CODES


def test_every_table_is_in_its_union() -> None:
    declared = {(table.union, table.number): name for name, table in TABLES.items()}
    unions = ((1, "BuiltinOptions"), (2, "BuiltinOptions2"))
    assert declared == {
        (union, number): name
        for union, enumeration in unions
        for number, name in _numbers(enumeration).items()
        if number
    }


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_option_has_its_type_slot_and_default(table: OptionsTable) -> None:
    declared = {}
    for option in table.options:
        is_offset = option.is_vector or option.kind == TEXT
        default = option.names.index(option.default) if option.names else option.default
        declared[_getter(option.name)] = (
            "UOffsetTRelative" if is_offset else option.wire.capitalize(),
            option.slot,
            0 if is_offset else default,
        )
    assert declared == _fields(table.name)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_every_enumeration_has_the_schemas_names(name: str) -> None:
    numbers = _numbers(ENUMERATED[name])
    ours = ENUMERATIONS[name].names
    assert sorted(numbers) == list(range(len(ours)))
    assert all(numbers[n].upper().endswith(word.upper()) for n, word in enumerate(ours)), (
        f"{ours} are not {numbers}"
    )


def test_operators_have_the_tables_that_vela_gives_them() -> None:
    """The schema does not say whose a table is; Vela's mapping does, but for StableHLO."""
    theirs = {
        CODES[number]: entry[1].name
        for number, entry in tflite_mapping.builtin_operator_map.items()
        if hasattr(entry[1], "builtin_opt_type")
    }
    theirs |= {"MULTINOMIAL": "RandomOptions"}  # TFLite's ParseMultinomial; Vela reads none
    ours = {
        op.code: op.table.name
        for op in OPS.values()
        if op.table and not op.code.startswith("STABLEHLO")
    }
    assert ours == theirs
