"""Operators that move data."""

from typing import Any

from tests.corpus.choices import Choices
from tests.corpus.draft import Case, Draft, Generator


def reshape(choices: Choices, dtype: str) -> Case:
    """Draw RESHAPE between layers."""
    net = Draft(choices, dtype)
    shape = net.image()
    x = net.maybe_before(net.feed(shape))
    _, height, width, depth = shape
    target = choices.pick(
        (
            (1, width, height, depth),
            (1, height * width * depth),
            (height, width * depth),
            (1, depth, height, width),
        )
    )
    return net.case(net.maybe_after(net.reshape(x, target)))


def squeeze(choices: Choices, dtype: str) -> Case:
    """Draw SQUEEZE of the batch."""
    net = Draft(choices, dtype)
    shape = net.image()
    x = net.maybe_before(net.feed(shape))
    return net.case(net.apply("SQUEEZE", x, squeeze_dims=[0]))


def expand_dims(choices: Choices, dtype: str) -> Case:
    """Draw EXPAND_DIMS anywhere."""
    net = Draft(choices, dtype)
    shape = net.any_shape(1, 3)
    axis = choices.integer(0, len(shape))
    x = net.feed(shape)
    return net.case(net.maybe_after(net.apply("EXPAND_DIMS", x, net.integers(axis))))


def transpose(choices: Choices, dtype: str) -> Case:
    """Draw TRANSPOSE by any permutation."""
    net = Draft(choices, dtype)
    shape = net.any_shape(2, 4)
    left, order = list(range(len(shape))), []
    while left:
        order.append(left.pop(choices.integer(0, len(left) - 1)))
    x = net.maybe_before(net.feed(shape))
    return net.case(net.maybe_after(net.transpose(x, order)))


def concatenation(choices: Choices, dtype: str) -> Case:
    """Draw CONCATENATION of two to four parts along any axis."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    axis = choices.integer(0, len(shape) - 1)
    sizes = [net.extent(20) for _ in range(choices.integer(2, 4))]
    first = net.feed((*shape[:axis], sizes[0], *shape[axis + 1 :]))
    spec = net.tensors[first]
    first_own: dict[str, Any] = {"scale": spec.scale, "zero_point": spec.zero_point}
    same = dtype != "uint8" or choices.chance(2)  # only TFLite's uint8 kernel rescales
    rest = [
        net.feed((*shape[:axis], size, *shape[axis + 1 :]), **(first_own if same else {}))
        for size in sizes[1:]
    ]
    parts = [first, *rest]
    return net.case(net.maybe_after(net.concat(parts, axis)))


def pack(choices: Choices, dtype: str) -> Case:
    """Draw PACK of one to four parts."""
    net = Draft(choices, dtype)
    shape = net.any_shape(1, 3)
    axis, count = choices.integer(0, len(shape)), choices.integer(1, 4)
    first = net.feed(shape)
    spec = net.tensors[first]
    rest = [net.feed(shape, scale=spec.scale, zero_point=spec.zero_point) for _ in range(count - 1)]
    return net.case(net.apply("PACK", first, *rest, axis=axis, values_count=count))


def unpack(choices: Choices, dtype: str) -> Case:
    """Draw UNPACK into up to five parts."""
    net = Draft(choices, dtype)
    shape = net.any_shape(2, 4)
    axis = choices.integer(0, len(shape) - 1)
    shape = (*shape[:axis], choices.integer(1, 5), *shape[axis + 1 :])
    x = net.maybe_before(net.feed(shape))
    return net.case(*net.apply_all("UNPACK", x, axis=axis, num=shape[axis]))


def split(choices: Choices, dtype: str) -> Case:
    """Draw SPLIT into equal parts."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    axis, count, size = choices.integer(0, len(shape) - 1), choices.integer(1, 4), net.extent(10)
    shape = (*shape[:axis], count * size, *shape[axis + 1 :])
    x = net.maybe_before(net.feed(shape))
    parts = net.apply_all("SPLIT", net.integers(axis), x, num_splits=count)
    return net.case(*[net.maybe_after(part) for part in parts])


def split_v(choices: Choices, dtype: str) -> Case:
    """Draw SPLIT_V into parts of any size."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    axis = choices.integer(0, len(shape) - 1)
    sizes = [net.extent(10) for _ in range(choices.integer(1, 4))]
    shape = (*shape[:axis], sum(sizes), *shape[axis + 1 :])
    x = net.maybe_before(net.feed(shape))
    parts = net.apply_all(
        "SPLIT_V", x, net.integers(sizes), net.integers(axis), num_splits=len(sizes)
    )
    return net.case(*parts)


def pad(choices: Choices, dtype: str) -> Case:
    """Draw PAD."""
    net = Draft(choices, dtype)
    return net.case(net.maybe_after(net.apply("PAD", *_padded(net))))


def pad_v2(choices: Choices, dtype: str) -> Case:
    """Draw PADV2 with its own constant."""
    net = Draft(choices, dtype)
    x, amounts = _padded(net)
    spec = net.tensors[x]
    value = net.constant(net.random_integers((1,), dtype), dtype, spec.scale, spec.zero_point)
    return net.case(net.apply("PADV2", x, amounts, value))


def _padded(net: Draft) -> tuple[int, list[list[int]]]:
    shape = net.any_shape(1, 4)
    free = [net.choices.integer(0, 2) > 0 for _ in shape]
    if len(shape) == 4:
        free[0] = net.choices.chance(8)
    amounts = [
        [net.choices.integer(0, 4), net.choices.integer(0, 4)] if wanted else [0, 0]
        for wanted in free
    ]
    return net.maybe_before(net.feed(shape)), amounts


def mirror_pad(choices: Choices, dtype: str) -> Case:
    """Draw MIRROR_PAD, reflected or symmetric."""
    net = Draft(choices, dtype)
    shape = net.any_shape(1, 4)
    mode = choices.pick(("REFLECT", "SYMMETRIC"))
    planar = not choices.chance(4)
    amounts = []
    for axis, extent in enumerate(shape):
        most = min(4, extent - (mode == "REFLECT"))
        if planar and axis not in (len(shape) - 2, len(shape) - 3):
            most = 0
        amounts.append([choices.integer(0, most), choices.integer(0, most)])
    return net.case(net.apply("MIRROR_PAD", net.feed(shape), amounts, mode=mode))


def slice_(choices: Choices, dtype: str) -> Case:
    """Draw SLICE."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    begin = [choices.integer(0, extent - 1) for extent in shape]
    size = [choices.integer(1, extent - b) for extent, b in zip(shape, begin, strict=True)]
    x = net.maybe_before(net.feed(shape))
    return net.case(net.maybe_after(net.apply("SLICE", x, begin, size)))


def strided_slice(choices: Choices, dtype: str) -> Case:
    """Draw STRIDED_SLICE with strides, masks and dropped axes."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    begin = [choices.integer(0, extent - 1) for extent in shape]
    end = [choices.integer(b + 1, extent) for extent, b in zip(shape, begin, strict=True)]
    strides = [choices.pick((1, 1, 1, choices.integer(1, 3))) for _ in shape]
    mask = sum(1 << axis for axis in range(len(shape)) if choices.chance(4))
    drop = 1 << choices.integer(0, len(shape) - 1) if len(shape) > 1 and choices.chance(4) else 0
    mask &= ~drop
    for axis, first in enumerate(begin):
        if drop >> axis & 1:
            strides[axis], end[axis] = 1, first + 1
    x = net.maybe_before(net.feed(shape))
    masks = {"begin_mask": mask, "shrink_axis_mask": drop}
    return net.case(net.maybe_after(net.apply("STRIDED_SLICE", x, begin, end, strides, **masks)))


def tile(choices: Choices, dtype: str) -> Case:
    """Draw TILE."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    times = [choices.pick((1, choices.integer(1, 3))) for _ in shape]
    return net.case(net.apply("TILE", net.feed(shape), times))


def reverse(choices: Choices, dtype: str) -> Case:
    """Draw REVERSE_V2 along one axis."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    x = net.feed(shape)
    some = [choices.integer(0, len(shape) - 1)]
    axis = net.integers(choices.pick((some, [])))  # Vela only accepts a REVERSE_V2 without effect
    return net.case(net.apply("REVERSE_V2", x, axis))


def resize(code: str) -> Generator:
    """Return a generator of resizing by 2, 4 or 8; NEAREST also to any size, which U85 takes."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        size = net.extent(8), net.extent(8)
        x = net.maybe_before(net.feed((1, *size, net.extent(36))))
        corners, half = choices.pick(((False, False), (True, False), (False, True)))
        factor = choices.pick((2, 2, 4, 8))
        scaled = [(e - 1) * factor + 1 if corners else e * factor for e in size]
        if size == (1, 1):
            scaled = [choices.integer(1, 9), choices.integer(1, 9)]
        if code == "RESIZE_NEAREST_NEIGHBOR" and choices.chance(3):
            scaled = [choices.integer(1, 20), choices.integer(1, 20)]
        options = {"align_corners": corners, "half_pixel_centers": half}
        return net.case(net.maybe_after(net.apply(code, x, scaled, **options)))

    draw.__doc__ = f"Draw {code}."
    return draw
