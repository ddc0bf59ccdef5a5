"""Reports of large networks: a real one's layers and events, many times one after the other."""

from dataclasses import replace

from ethosgen.report.content import Area, MemoryUse, NetworkReport, Slot


def repeated(report: NetworkReport, times: int) -> NetworkReport:
    """Return the report of a network that does the same `times` times."""
    count, whole, steps = len(report.layers), report.costs.cycles, len(report.memory.slots)
    layers = tuple(
        replace(
            layer,
            operator=layer.operator + n * count,
            inputs=tuple(i + n * count for i in layer.inputs)
            or ((n * count - 1,) if n and layer.operator == 0 else ()),
            partition=f"{layer.partition}_{n}" if layer.partition else "",
            merged_into=None if layer.merged_into is None else layer.merged_into + n * count,
            share=None if layer.share is None else layer.share / times,
        )
        for n in range(times)
        for layer in report.layers
    )
    partitions = tuple(
        replace(
            part, name=f"{part.name}_{n}", operators=tuple(i + n * count for i in part.operators)
        )
        for n in range(times)
        for part in report.partitions
    )
    timeline = tuple(
        replace(
            event,
            operator=None if event.operator is None else event.operator + n * count,
            start=event.start + n * whole,
            end=event.end + n * whole,
        )
        for n in range(times)
        for event in report.timeline
    )
    slots = tuple(
        Slot(slot.name, slot.start + n * whole, slot.end + n * whole)
        for n in range(times)
        for slot in report.memory.slots
    )
    areas = tuple(_area(area, times, count, steps) for area in report.memory.areas)
    return replace(
        report,
        layers=layers,
        partitions=partitions,
        timeline=timeline,
        memory=MemoryUse(slots, areas),
        costs=replace(report.costs, cycles=whole * times),
        subject=replace(report.subject, operators=count * times),
    )


def _area(area: Area, times: int, count: int, steps: int) -> Area:
    blocks = tuple(
        replace(
            block,
            first=block.first + n * steps,
            last=block.last + n * steps,
            operator=None if block.operator is None else block.operator + n * count,
        )
        for n in range(times)
        for block in area.blocks
    )
    return replace(area, blocks=blocks)
