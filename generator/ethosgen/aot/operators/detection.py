"""TFLite_Detection_PostProcess: decode an object detector's boxes and choose the best.

Follows TFLite Micro's detection_postprocess.cc, and LiteRT's for uint8. Both sort all candidates
and walk down the list. This code searches for the best remaining candidate each time (among equals,
the first), which chooses the same boxes in the same order without memory for lists.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.loops.layer import less
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import BAD_VALUE, Nest, call, int32, number, real
from ethosgen.aot.tir.quantization import scale_of, zero_point_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.dialect import DETECTION
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

_COORDINATES = 4
_PER_CLASS = 100
"""The default of detections_per_class."""

Take = Callable[[Any, Any], None]
"""Consumes a chosen box, given its row and score."""


@dataclass(frozen=True)
class _Options:
    """The options that affect the result, checked."""

    classes: int
    most: int
    per_class: int
    least_score: float
    overlap: float
    is_regular: bool
    scales: tuple[float, ...]
    """The scales of y, x, height and width."""


def _read_options(attributes: Mapping[str, Any]) -> _Options:
    try:
        options = _Options(
            classes=int(attributes["num_classes"]),
            most=int(attributes["max_detections"]),
            per_class=int(attributes.get("detections_per_class", _PER_CLASS)),
            least_score=float(attributes["nms_score_threshold"]),
            overlap=float(attributes["nms_iou_threshold"]),
            is_regular=bool(attributes.get("use_regular_nms", False)),
            scales=tuple(float(attributes[f"{name}_scale"]) for name in "yxhw"),
        )
        kept_classes = int(attributes["max_classes_per_detection"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnsupportedError(f"its options are damaged or lack {error}") from None
    if not 0 < options.overlap <= 1:
        raise UnsupportedError(f"its nms_iou_threshold is {options.overlap}, not in 0 to 1")
    if not options.is_regular and min(kept_classes, options.classes) != 1:
        raise UnsupportedError(
            f"its max_classes_per_detection is {kept_classes}, with which TFLite Micro writes "
            "outside its outputs; set it to 1, or use_regular_nms to true"
        )
    if options.is_regular and options.per_class < 1:
        raise UnsupportedError(f"its detections_per_class is {options.per_class}")
    return options


@operator(DETECTION, dtypes=("uint8",), litert=True, ulp=LIBRARY_ULP)
@operator(DETECTION, dtypes=("float32",), ulp=LIBRARY_ULP)
def detection_postprocess(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Choose boxes by regular or fast non-maximum suppression; a box without area is an error.

    Outputs after the last detection are 0; TFLite Micro's fast variant leaves them uninitialized.
    uint8 inputs, which only LiteRT supports, are dequantized first, and their boxes can have zero
    width or height.
    """
    work = _Work(op, tensors)
    work.decode()
    if work.options.is_regular:
        work.choose_by_class()
    else:
        work.choose_by_best_class()
    return work.nest.kernel()


class _Reals:
    """An input as floats; uint8 elements are dequantized."""

    def __init__(self, nest: Nest, name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
        self._buffer = nest.read(name, tensor, shape)
        self._tensor = tensor

    def __getitem__(self, place: tuple[Any, ...]) -> Any:
        """Return an element as float32."""
        value = self._buffer[place]
        if self._tensor.dtype == "float32":
            return value
        steps = less(int32(value), zero_point_of(self._tensor))
        return tirx.Cast("float32", steps) * real(scale_of(self._tensor))


class _Work:
    """Builds the kernel: inputs, outputs, and the boxes as corners."""

    def __init__(self, op: Operator, tensors: Sequence[Tensor]) -> None:
        self.options = _read_options(op.options)
        encodings, scores, anchors = (tensors[i] for i in op.inputs)
        self.rows, self.columns = encodings.shape[1], scores.shape[-1]
        self.first = self.columns - self.options.classes
        self._check(encodings, scores, anchors, [tensors[i] for i in op.outputs])
        nest = self.nest = Nest()
        depth = encodings.shape[2]
        self.may_be_flat = encodings.dtype == "uint8"
        self.encodings = _Reals(nest, "encodings", encodings, (self.rows, depth))
        self.scores = _Reals(nest, "scores", scores, (self.rows, self.columns))
        self.anchors = _Reals(nest, "anchors", anchors, (self.rows, _COORDINATES))
        boxes, classes, kept_scores, count = (tensors[i] for i in op.outputs)
        self.boxes = nest.write("boxes", boxes, (self.options.most, _COORDINATES))
        self.classes = nest.write("classes", classes, (self.options.most,))
        self.kept_scores = nest.write("made_scores", kept_scores, (self.options.most,))
        self.count = nest.write("count", count, (1,))
        self.corners = nest.workspace("corners", "float32", (self.rows, _COORDINATES))
        self.best = nest.workspace("best_scores", "float32", (self.rows,))
        self.active = nest.workspace("active", "bool", (self.rows,))
        self.detections = nest.local("found", tirx.const(0, "int32"))

    def _check(
        self, encodings: Tensor, scores: Tensor, anchors: Tensor, outputs: Sequence[Tensor]
    ) -> None:
        kinds = {t.dtype for t in (encodings, scores, anchors)}
        if len(kinds) > 1 or any(t.dtype != "float32" for t in outputs):
            raise UnsupportedError("its inputs differ in type, or its outputs are not float32")
        fits = (
            encodings.shape[0] == 1
            and encodings.shape[2] >= _COORDINATES
            and scores.shape[:2] == encodings.shape[:2]
            and anchors.shape == (self.rows, _COORDINATES)
            and self.first in (0, 1)
        )
        most = self.options.most
        if not fits or [t.elements for t in outputs] != [most * _COORDINATES, most, most, 1]:
            raise UnsupportedError("the shapes of its tensors do not fit its options")

    # ---- boxes ---------------------------------------------------------------------------------

    def decode(self) -> None:
        """Convert centres and sizes to corners in double precision, like DecodeCenterSizeBoxes."""
        nest = self.nest
        with nest.loop("row", self.rows) as row:
            y, x, height, width = (
                nest.let(
                    name,
                    tirx.Cast("float64", self.encodings[row, axis])
                    / real(self.options.scales[axis], "float64"),
                )
                for axis, name in enumerate(("y", "x", "height", "width"))
            )
            anchor = [
                nest.let(f"anchor_{name}", tirx.Cast("float64", self.anchors[row, axis]))
                for axis, name in enumerate("yxhw")
            ]
            centres = (y * anchor[2] + anchor[0], x * anchor[3] + anchor[1])
            halves = (
                real(0.5, "float64") * call("exp", size, dtype="float64") * anchor[2 + axis]
                for axis, size in enumerate((height, width))
            )
            for axis, (centre, half) in enumerate(zip(centres, halves, strict=True)):
                middle = nest.let("middle", tirx.Cast("float32", centre))
                reach = nest.let("reach", tirx.Cast("float32", half))
                low, high = nest.let("low", middle - reach), nest.let("high", middle + reach)
                with nest.when(low > high if self.may_be_flat else low >= high):
                    nest.fail(BAD_VALUE)
                nest.store(self.corners, (row, axis), low)
                nest.store(self.corners, (row, axis + 2), high)

    def _overlap(self, first: Any, second: Any) -> Any:
        """Return the intersection of two boxes over their union."""
        nest = self.nest
        a, b = (
            [nest.let(f"{name}{axis}", self.corners[row, axis]) for axis in range(_COORDINATES)]
            for name, row in (("a", first), ("b", second))
        )
        areas = [nest.let("area", (box[2] - box[0]) * (box[3] - box[1])) for box in (a, b)]
        sides = []
        for axis in (0, 1):
            low = nest.let("low", tirx.max(a[axis], b[axis]))
            high = nest.let("high", tirx.min(a[axis + 2], b[axis + 2]))
            sides.append(nest.let("side", tirx.max(nest.let("gap", high - low), real(0.0))))
        common = nest.let("common", sides[0] * sides[1])
        share = common / (areas[0] + areas[1] - common)
        flat = tirx.any(areas[0] <= real(0.0), areas[1] <= real(0.0))
        return nest.let("share", tirx.Select(flat, real(0.0), share))

    # ---- the choice ----------------------------------------------------------------------------

    def _choose(self, most: int, take: Take) -> None:
        """Pass the best rows of `best` to `take`, except those that overlap a better row."""
        nest, yes, no = self.nest, tirx.const(True, "bool"), tirx.const(False, "bool")
        least = real(self.options.least_score)
        with nest.loop("row", self.rows) as row:
            nest.store(self.active, (row,), self.best[row] >= least)
        goes_on = nest.local("goes_on", yes)
        with nest.loop("turn", min(most, self.rows)), nest.when(goes_on[0]):
            chosen = nest.local("chosen", tirx.const(-1, "int32"))
            score = nest.local("score", real(0.0))
            with (
                nest.loop("row", self.rows) as row,
                nest.when(self.active[row]),
                nest.when(tirx.any(chosen[0] < 0, self.best[row] > score[0])),
            ):
                nest.store(chosen, (0,), int32(row))
                nest.store(score, (0,), self.best[row])
            nest.store(goes_on, (0,), chosen[0] >= 0)
            with nest.when(goes_on[0]):
                here = nest.let("here", chosen[0])
                nest.store(self.active, (here,), no)
                take(here, nest.let("its_score", score[0]))
                with nest.loop("row", self.rows) as row, nest.when(self.active[row]):
                    share = self._overlap(here, row)
                    with nest.when(share > real(self.options.overlap)):
                        nest.store(self.active, (row,), no)

    def choose_by_best_class(self) -> None:
        """Suppress by each box's best class (NonMaxSuppressionMultiClassFastHelper)."""
        nest = self.nest
        best_class = nest.workspace("best_classes", "int32", (self.rows,))
        with nest.loop("row", self.rows) as row:
            nest.store(self.best, (row,), self.scores[row, self.first])
            nest.store(best_class, (row,), tirx.const(0, "int32"))
            with nest.loop("kind", self.options.classes - 1, 1) as kind:
                score = nest.let("score", self.scores[row, kind + self.first])
                with nest.when(score > self.best[row]):
                    nest.store(self.best, (row,), score)
                    nest.store(best_class, (row,), int32(kind))

        def take(row: Any, score: Any) -> None:
            place = nest.let("place", self.detections[0])
            self._write(place, row, score, best_class[row])
            nest.store(self.detections, (0,), place + 1)

        self._choose(self.options.most, take)
        self._finish()

    def choose_by_class(self) -> None:
        """Suppress within each class and keep the best (NonMaxSuppressionMultiClassRegular).

        The outputs hold the best so far, sorted by score; a new one goes after equal ones.
        """
        nest, most = self.nest, self.options.most
        with nest.loop("kind", self.options.classes) as kind:
            with nest.loop("row", self.rows) as row:
                nest.store(self.best, (row,), self.scores[row, kind + self.first])

            def take(row: Any, score: Any, kind: Any = kind) -> None:
                place = nest.local("place", tirx.const(0, "int32"))
                with (
                    nest.loop("k", self.detections[0]) as k,
                    nest.when(self.kept_scores[k] >= score),
                ):
                    nest.store(place, (0,), int32(k + 1))
                with nest.when(place[0] < most):
                    with nest.when(self.detections[0] < most):
                        nest.store(self.detections, (0,), self.detections[0] + 1)
                    with nest.loop("k", self.detections[0] - 1 - place[0]) as k:
                        self._move(nest.let("to", self.detections[0] - 1 - k))
                    self._write(nest.let("at", place[0]), row, score, kind)

            self._choose(self.options.per_class, take)
        self._finish()

    def _move(self, place: Any) -> None:
        """Move a detection one place back."""
        nest = self.nest
        for axis in range(_COORDINATES):
            nest.store(self.boxes, (place, axis), self.boxes[place - 1, axis])
        nest.store(self.classes, (place,), self.classes[place - 1])
        nest.store(self.kept_scores, (place,), self.kept_scores[place - 1])

    def _write(self, place: Any, row: Any, score: Any, kind: Any) -> None:
        nest = self.nest
        for axis in range(_COORDINATES):
            nest.store(self.boxes, (place, axis), self.corners[row, axis])
        nest.store(self.classes, (place,), int32(kind))
        nest.store(self.kept_scores, (place,), score)

    def _finish(self) -> None:
        """Store the number of detections, and 0 in the remaining outputs."""
        nest, zero = self.nest, number(0, "float32")
        nest.store(self.count, (0,), self.detections[0])
        with nest.loop("k", self.options.most) as k, nest.when(k >= self.detections[0]):
            for axis in range(_COORDINATES):
                nest.store(self.boxes, (k, axis), zero)
            nest.store(self.classes, (k,), zero)
            nest.store(self.kept_scores, (k,), zero)
