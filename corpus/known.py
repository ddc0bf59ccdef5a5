"""What is known not to be 0, why, and where that is written.

An entry explains a difference only in networks for which `applies` holds, and only up to `largest`;
whatever no entry explains is unexpected, and fails the tests. Regor is the C++ core of ethos-u-vela
5.2 (its sdist, below ethosu/regor); TFLite Micro and LiteRT are below their repositories' roots.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from corpus.settings import Setting
from ethosgen.model import Graph, Operator
from ethosgen.plan import IoStyle

TFLM, LITERT, FAULT = "tflm", "litert", "fault"

Applies = Callable[[Graph, Setting], bool]


@dataclass(frozen=True)
class Known:
    """One difference: whose it is, what it explains, and why.

    `against` lists the oracles (or "fault") that it explains; `largest` None is without bound.
    """

    name: str
    owner: str
    against: tuple[str, ...]
    applies: Applies
    text: str
    largest: int | None = None


def explain(graph: Graph, setting: Setting, against: str, largest: int = 0) -> Known | None:
    """Return the entry that explains a difference, None if it is unexpected."""
    for entry in KNOWN:
        if (
            against in entry.against
            and (entry.largest is None or largest <= entry.largest)
            and entry.applies(graph, setting)
        ):
            return entry
    return None


# ---- conditions ----------------------------------------------------------------------------------


def _operators(graph: Graph, *codes: str) -> Iterator[Operator]:
    return (op for op in graph.operators if op.code in codes)


def _has(*codes: str, dtypes: tuple[str, ...] = ()) -> Applies:
    """Say whether a network has one of the operators, computing in one of the dtypes."""

    def applies(graph: Graph, setting: Setting) -> bool:
        return any(
            not dtypes or graph.tensors[op.outputs[0]].dtype in dtypes
            for op in _operators(graph, *codes)
        )

    return applies


def _constant(graph: Graph, op: Operator, position: int) -> list[int]:
    return [int(v) for v in graph.tensors[op.inputs[position]].array().reshape(-1)]


def _axes(graph: Graph, op: Operator) -> list[int]:
    rank = len(graph.tensors[op.inputs[0]].shape)
    return [axis % rank for axis in _constant(graph, op, 1)]


def _mirrors_elsewhere(graph: Graph, setting: Setting) -> bool:
    """Say whether a MIRROR_PAD pads another dimension than height and width."""
    for op in _operators(graph, "MIRROR_PAD"):
        rank = len(graph.tensors[op.inputs[0]].shape)
        amounts = _constant(graph, op, 1)
        if any(
            amounts[2 * a] + amounts[2 * a + 1]
            for a in range(rank)
            if a < rank - 3 or a == rank - 1
        ):
            return True
    return False


def _drops_last_axis(*codes: str) -> Applies:
    """Say whether a reduction over the last axis does not keep it."""

    def applies(graph: Graph, setting: Setting) -> bool:
        return any(
            len(graph.tensors[op.inputs[0]].shape) - 1 in _axes(graph, op)
            and not op.options.get("keep_dims")
            for op in _operators(graph, *codes)
        )

    return applies


def _drops_axis_of_minimum(graph: Graph, setting: Setting) -> bool:
    return any(
        not op.options.get("keep_dims") and _axes(graph, op) != [0]
        for op in _operators(graph, "REDUCE_MIN")
    )


def _squares_beyond_32_bits(graph: Graph, setting: Setting) -> bool:
    """Say whether the largest squared difference, in steps of the output, exceeds an int32."""
    for op in _operators(graph, "SQUARED_DIFFERENCE"):
        x, y, out = (graph.tensors[i].quantization for i in (*op.inputs, *op.outputs))
        steps = 65535 if graph.tensors[op.outputs[0]].dtype == "int16" else 255
        if x and y and out and (steps * (x.scale[0] + y.scale[0])) ** 2 / out.scale[0] > 1 << 31:
            return True
    return False


def _sums_several_axes(graph: Graph, setting: Setting) -> bool:
    return any(len(_axes(graph, op)) > 1 for op in _operators(graph, "SUM"))


def _transposes_uint8(graph: Graph, setting: Setting) -> bool:
    """Say whether Vela needs a transposition of uint8, an operator's own or one of its making."""
    own = _has("TRANSPOSE", "BATCH_MATMUL", "REDUCE_MAX", "REDUCE_MIN", "SUM", dtypes=("uint8",))
    if own(graph, setting):
        return True
    return any(
        op.options.get("depth_multiplier", 1) > 1 and graph.tensors[op.inputs[0]].shape[3] > 1
        for op in _operators(graph, "DEPTHWISE_CONV_2D")
        if graph.tensors[op.outputs[0]].dtype == "uint8"
    )


def _clips_cells_at_a_fraction(graph: Graph, setting: Setting) -> bool:
    clips = (op.options["cell_clip"] for op in _operators(graph, "UNIDIRECTIONAL_SEQUENCE_LSTM"))
    return any(clip != int(clip) for clip in clips)


def _transposes_into_part(graph: Graph, setting: Setting) -> bool:
    """Say whether a transposition may be fused with an operator that makes part of a tensor."""
    return _has("TRANSPOSE")(graph, setting) and _has("PAD", "PADV2", "CONCATENATION", "PACK")(
        graph, setting
    )


def _saturates_at_once(graph: Graph, setting: Setting) -> bool:
    """Say whether one step of an input of LOGISTIC or TANH is beyond their range."""
    inputs = (graph.tensors[op.inputs[0]] for op in _operators(graph, "LOGISTIC", "TANH"))
    return any(t.quantization is not None and t.quantization.scale[0] > 15 for t in inputs)


def _copies_input_of_caller(graph: Graph, setting: Setting) -> bool:
    """Say whether Vela reads the caller's buffer by DMA: for products and transpositions."""
    return setting.io is IoStyle.CALLER and any(
        op.code in ("TRANSPOSE", "SUM") or graph.tensors[op.inputs[1]].data is None
        for op in _operators(graph, "BATCH_MATMUL", "FULLY_CONNECTED", "TRANSPOSE", "SUM")
    )


def _has_high_rank(graph: Graph, setting: Setting) -> bool:
    return any(len(tensor.shape) > 4 for tensor in graph.tensors)


def _table_after_transposition(graph: Graph, setting: Setting) -> bool:
    """Say whether Vela may fuse a table with a transposition, on an NPU without reserved room."""
    tables = _has("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "TANH", "ELU", "GELU", "EXP", "LOG")
    small = setting.npu in ("ethos-u55-32", "ethos-u55-64")
    return small and tables(graph, setting) and _has("TRANSPOSE")(graph, setting)


# ---- the table -----------------------------------------------------------------------------------

KNOWN: tuple[Known, ...] = (
    Known(
        "mirror-pad-axes",
        "Vela",
        (TFLM, LITERT),
        _mirrors_elsewhere,
        "Vela takes every MIRROR_PAD but pads height and width only; along other dimensions the "
        "output is left unwritten (Regor, compiler/tflite_graph_optimiser.cpp, ConvertMirrorPad).",
    ),
    Known(
        "reduce-last-axis",
        "Vela",
        (TFLM, LITERT),
        _drops_last_axis("REDUCE_MAX", "REDUCE_MIN"),
        "Without keep_dims, a reduction over the last axis is reshaped around an axis that the "
        "output no longer has (Regor, compiler/scheduler_decompose.cpp, DecomposeReduce).",
    ),
    Known(
        "reduce-min-axis",
        "Vela",
        (TFLM, LITERT),
        _drops_axis_of_minimum,
        "A minimum is computed as the maximum of the inverted values, and inverted back in the "
        "shape of an output that no longer has the axis, so the rows are repeated wrongly (Regor, "
        "compiler/graphir_optimiser.cpp, RewriteReduceMin).",
    ),
    Known(
        "sum-several-axes",
        "Vela",
        (TFLM, LITERT, FAULT),
        _sums_several_axes,
        "Vela reads only the first axis of a SUM (Regor, tflite/tflite_reader.cpp, "
        "CreateAxisAttribute).",
    ),
    Known(
        "sum-last-axis",
        "Vela",
        (TFLM, LITERT, FAULT),
        _drops_last_axis("SUM"),
        "Without keep_dims, a SUM over the last axis asks for a REDUCE_SUM with more than one "
        "output channel; the model faults (Regor, compiler/graphir_optimiser.cpp, "
        "RewriteReduceSum).",
    ),
    Known(
        "sum-rounding",
        "Vela",
        (TFLM,),
        _has("SUM"),
        "TFLite Micro rounds a SUM twice, Vela asks the NPU to round once: round_mode NATURAL "
        "(TFLite, tensorflow/lite/kernels/internal/reference/reduce.h, QuantizedMeanOrSum; Regor, "
        "compiler/graphir_optimiser.cpp, RewriteReduceSum).",
        largest=1,
    ),
    Known(
        "litert-sum",
        "LiteRT",
        (LITERT,),
        _has("SUM", dtypes=("int8", "uint8", "int16")),
        "LiteRT 2.3's reference SUM of quantized tensors is not the sum of the reals (measured, "
        "for instance -1 for each of 21 sums of 16 values); TFLite Micro's agrees with the NPU.",
    ),
    Known(
        "transpose-uint8",
        "Vela",
        (TFLM, LITERT),
        _transposes_uint8,
        "Vela transposes uint8 as int8 but leaves ACTIVATION_MIN and MAX those of uint8, so values "
        "from 128 are clipped; its own table lists int8, int16 and int32 for TRANSPOSE "
        "(SUPPORTED_OPS.md).",
    ),
    Known(
        "lut-beyond-shram",
        "Vela",
        (FAULT,),
        _table_after_transposition,
        "A table fused with a transposition is loaded behind the end of the SHRAM of the two "
        "smallest NPUs, since no room was reserved for it; the model faults (Regor, "
        "architecture/ethosu55/ethos_u55.cpp, lutBanks).",
    ),
    Known(
        "reads-by-16-bytes",
        "Vela",
        (FAULT,),
        _copies_input_of_caller,
        "Vela copies an input of a matrix product, and of some transpositions, by DMA in multiples "
        "of 16 bytes, up to 15 more than the caller's buffer has; the model faults.",
    ),
    Known(
        "high-rank",
        "Vela",
        (TFLM, LITERT),
        _has_high_rank,
        "Vela takes tensors of more than four dimensions apart, and where one operand is repeated, "
        "or parts are packed, pairs the wrong slices: its command stream reads the smaller operand "
        "at the offsets of another dimension (MAXIMUM of 2x2x2x3x1 and 2x3x1), or leaves slices of "
        "the output unwritten (PACK).",
    ),
    Known(
        "mul-int32",
        "Vela",
        (TFLM, LITERT),
        _has("MUL", dtypes=("int32",)),
        "The NPU only shifts a 32-bit product (Regor, "
        'architecture/ethosu55/ethos_u55_constraints.cpp: "supports shift-only if input or output '
        'is 32-bit"), but Vela writes the factor 1.0 as 2^30 with a shift of 30.',
    ),
    Known(
        "rounding-uint8",
        "TFLite Micro in int8",
        (TFLM,),
        _has("AVERAGE_POOL_2D", "RESIZE_BILINEAR", dtypes=("uint8",)),
        "TFLite averages and interpolates uint8 with another rounding than int8 (half up, or "
        "truncated, instead of half away from zero), and TFLite Micro was asked in int8; LiteRT, "
        "asked in uint8, agrees with the NPU.",
    ),
    Known(
        "relu6-scale",
        "TFLite Micro",
        (TFLM,),
        _has("RELU6"),
        "TFLite Micro's RELU6 clamps without rescaling to the output's scale "
        "(tensorflow/lite/micro/kernels/activations_common.cc, Relu6Prepare).",
    ),
    Known(
        "rsqrt-int16",
        "TFLite Micro",
        (TFLM,),
        _has("RSQRT", dtypes=("int16",)),
        "TFLite Micro computes each value (tensorflow/lite/micro/kernels/elementwise.cc), LiteRT "
        "and Vela interpolate in the same table of 512 segments (Regor, compiler/"
        "tflite_graph_optimiser.cpp, kRSqrtLut), which is coarse for small inputs.",
    ),
    Known(
        "softmax-int16",
        "TFLite Micro",
        (TFLM,),
        _has("SOFTMAX", dtypes=("int16",)),
        "TFLite Micro fills its tables in float (tensorflow/lite/micro/kernels/softmax_common.cc), "
        "LiteRT and Vela in double (LiteRT, tflite/kernels/activations.cc, SoftmaxPrepare).",
        largest=1,
    ),
    Known(
        "logistic-fixed-point",
        "TFLite Micro",
        (TFLM,),
        _has("LOGISTIC", "TANH", dtypes=("int8", "uint8")),
        "TFLite Micro computes 8-bit LOGISTIC and TANH in fixed point (tensorflow/lite/kernels/"
        "internal/reference/integer_ops/logistic.h and tanh.h), Vela and LiteRT fill a table in "
        "float (Regor, compiler/tflite_graph_optimiser.cpp, ConvertTanhSigmoidToLUT).",
        largest=1,
    ),
    Known(
        "logistic-steps",
        "TFLite Micro",
        (TFLM,),
        _saturates_at_once,
        "Where one step of the input is more than 15, TFLite Micro takes even a real 0 for "
        "saturated: its input radius is 0 (tensorflow/lite/micro/kernels/logistic_common.cc).",
    ),
    Known(
        "square-overflow",
        "TFLite Micro",
        (TFLM,),
        _squares_beyond_32_bits,
        "A squared difference of more than 2^31 steps of the output overflows in TFLite Micro and "
        "changes its sign; the NPU saturates (tensorflow/lite/micro/kernels/"
        "squared_difference.cc).",
    ),
    Known(
        "factor-float",
        "TFLite Micro",
        (TFLM,),
        _has("MUL", "LEAKY_RELU", "PRELU", "UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("int16",)),
        "TFLite Micro computes the quotient of scales in double (tensorflow/lite/micro/kernels/"
        "mul_common.cc), LiteRT and Vela in float; where a product lies halfway the difference "
        "decides.",
        largest=1,
    ),
    Known(
        "factor-double",
        "LiteRT",
        (LITERT,),
        _has("ABS", dtypes=("int16",)),
        "LiteRT computes the quotient of scales in float (tflite/kernels/elementwise.cc, "
        "SetAbsOutputMultiplier), Vela and TFLite Micro in double.",
        largest=1,
    ),
    Known(
        "litert-rounds-once",
        "LiteRT",
        (LITERT,),
        _has("FULLY_CONNECTED", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "LiteRT's reference FULLY_CONNECTED rounds once, TFLite Micro's and the NPU's twice "
        "(measured; the other operators of LiteRT's reference round twice).",
    ),
    Known(
        "log-last-segment",
        "Vela",
        (LITERT,),
        _has("LOG", dtypes=("int16",)),
        "The slope of the last segment of a 16-bit table is one too small where its base is "
        "negative: the base is not masked (Regor, compiler/lut_util.hpp).",
    ),
    Known(
        "lstm-cell-clip",
        "Vela",
        (TFLM, LITERT),
        _clips_cells_at_a_fraction,
        "Vela keeps an LSTM's cell clip as an integer, so 1.25 clips at 1 and 0.8 not at all "
        "(Regor, compiler/attributes.hpp and lstm.hpp).",
    ),
    Known(
        "transpose-into-part",
        "Vela",
        (TFLM, LITERT),
        _transposes_into_part,
        "A transposition written straight into a padded tensor steps by the rows of the tensor "
        "without padding: slices of a 25x19 output follow each other by 23x19 (chain int8 18).",
    ),
)
