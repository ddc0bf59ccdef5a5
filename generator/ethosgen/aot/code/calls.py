"""The C of a network that runs on accelerators alone: the calls in order, without a compiler.

TVM would make the same C from the schedule (`passes`), but its import takes a second.
"""

from collections.abc import Iterator, Mapping, Sequence

from ethosgen.aot.code.emission import Emitted, FunctionText
from ethosgen.aot.code.module import (
    CallParameter,
    PartitionCall,
    partition_call,
    partition_name,
    results_name,
    value_name,
)
from ethosgen.aot.code.passes import STEP, EntrySignature, Location
from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.values.c_types import C_TYPES


def has_only_calls(schedule: StepSchedule) -> bool:
    """Return whether each step is a partition's call, and none is awaited later."""
    is_simple = bool(schedule.steps) and not schedule.waits
    return is_simple and all(step.partition for step in schedule.steps)


def made_by_calls(schedule: StepSchedule) -> list[str]:
    """Return the first Relax variable that each call makes, in order."""
    written = (schedule.writes(step) for step in schedule.steps)
    return [
        value_name(some[0]) if some else results_name(index) for index, some in enumerate(written)
    ]


def write_calls(
    schedule: StepSchedule, name: str, signature: EntrySignature, addresses: Mapping[str, Location]
) -> Emitted:
    """Return the partitions' functions and the entry, which returns the first bad status."""
    functions: dict[str, FunctionText] = {}
    calls: list[tuple[str, PartitionCall]] = []
    for index, step in enumerate(schedule.steps):
        if step.partition is not None:
            symbol = partition_name(schedule, step.partition, name)
            calls.append((symbol, partition_call(schedule, index, step.partition, name)))
            functions[symbol] = _partition(calls[-1][1])
    lines = list(_entry(calls, signature, addresses))
    body = "".join(f"\n  {line}" for line in lines) + "\n}\n"
    functions[signature.symbol] = FunctionText("int32_t", (), body)
    return Emitted(functions)


def _used(call: PartitionCall) -> list[CallParameter]:
    """Return the parameters that the call passes on."""
    return [parameter for parameter in call.parameters if parameter.variable in call.arguments]


def _partition(call: PartitionCall) -> FunctionText:
    kinds = {p.variable: p.dtype for p in call.parameters}

    def text(argument: str | int | None) -> str:
        if not isinstance(argument, str):
            return "NULL" if argument is None else str(argument)
        return argument if kinds[argument] == "void" else f"((void*){argument})"

    parameters = tuple(
        f"const {C_TYPES[p.dtype]} *{p.variable}" if p.is_read else f"void *{p.variable}"
        for p in _used(call)
    )
    expression = f"{call.target}({', '.join(map(text, call.arguments))})"
    returns = "int32_t" if call.returns_status else "void"
    start = "return " if call.returns_status else ""
    return FunctionText(returns, parameters, f"\n  {start}{expression};\n}}\n")


def _entry(
    calls: Sequence[tuple[str, PartitionCall]],
    signature: EntrySignature,
    addresses: Mapping[str, Location],
) -> Iterator[str]:
    """Yield the lines of the entry's body."""
    kinds = {parameter.name: parameter.dtype for parameter in signature.parameters}
    result, statuses = "0", 0
    for number, (symbol, call) in enumerate(calls, 1):
        yield f"{STEP}({number});"
        passed = (_passed(p, addresses[p.variable], kinds) for p in _used(call))
        statement = f"{symbol}({', '.join(passed)})"
        result = "0"
        if call.returns_status:
            result = f"status_{statuses}" if statuses else "status"
            statuses += 1
            statement = f"int32_t {result} = {statement}"
        yield f"{statement};"
        if call.returns_status and number < len(calls):
            yield from (f"if ({result} != 0) {{", f"  return {result};", "}")
    yield f"{STEP}(0);"
    yield f"return {result};"


def _passed(parameter: CallParameter, address: Location, kinds: Mapping[str, str]) -> str:
    """Return an address as an argument of the parameter's type."""
    if address.base not in kinds:
        return address.base
    place = f"&{address.base}[{address.offset}]" if address.offset else address.base
    if parameter.dtype in ("void", kinds[address.base]):
        return place
    return f"(({C_TYPES[parameter.dtype]}*){place})"
