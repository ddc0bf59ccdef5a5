"""What is known not to be 0, why, and where that is written.

An entry explains a difference only in networks for which `applies` holds, only up to `largest`,
only if the other oracle `agrees` with the NPU where it answers, and only if the values are those
that `confirms` works out from what the command stream says. Whatever no entry explains is
unexpected, and fails the tests. Regor is the C++ core of ethos-u-vela 5.2 (its sdist, below
ethosu/regor); TFLite Micro and LiteRT are below their repositories' roots.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from corpus import conditions as when
from corpus import predictions as value
from corpus.evidence import FAULT, LITERT, TFLM, Evidence

Applies = Callable[[Evidence], bool]


@dataclass(frozen=True)
class Known:
    """One difference: whose it is, what it explains, and why.

    `against` lists the oracles (or "fault") that it explains; `largest` None is without bound.
    `witness` is a key (operator, dtype, seed) that shows it, for what most runs do not meet.
    """

    name: str
    owner: str
    against: tuple[str, ...]
    applies: Applies
    text: str
    largest: int | None = None
    agrees: str | None = None
    confirms: Applies | None = None
    witness: tuple[str, str, int] | None = None

    def explains(self, found: Evidence) -> bool:
        """Say whether it explains what was found."""
        return (
            found.against in self.against
            and (self.largest is None or found.largest <= self.largest)
            and found.equal.get(self.agrees or "", True)
            and self.applies(found)
            and (self.confirms is None or self.confirms(found))
        )


def explain(found: Evidence) -> Known | None:
    """Return the entry that explains a difference, None if it is unexpected."""
    return next((entry for entry in KNOWN if entry.explains(found)), None)


def unneeded(met: Collection[str]) -> list[str]:
    """Return the entries that no sample of a whole run has met, and that no witness shows."""
    return [entry.name for entry in KNOWN if entry.name not in met and entry.witness is None]


# ---- the table -----------------------------------------------------------------------------------

KNOWN: tuple[Known, ...] = (
    Known(
        "mirror-pad-axes",
        "Vela",
        (TFLM, LITERT),
        when.mirrors_elsewhere,
        "Vela takes every MIRROR_PAD but pads height and width only; along other dimensions the "
        "output is left unwritten (Regor, compiler/tflite_graph_optimiser.cpp, ConvertMirrorPad).",
        confirms=value.mirrored_in_plane,
    ),
    Known(
        "reduce-dropped-axis",
        "Vela",
        (TFLM, LITERT),
        when.reduces_dropped_axis,
        "A maximum or minimum over the last axis, and a minimum over any but the first, is "
        "reshaped around that axis in the shape of the output, which no longer has it without "
        "keep_dims: a window slides over the first rows, instead of one over each row (Regor, "
        "compiler/scheduler_decompose.cpp, DecomposeReduce; compiler/graphir_optimiser.cpp, "
        "RewriteReduceMin).",
        confirms=value.slid,
    ),
    Known(
        "sum-several-axes",
        "Vela",
        (TFLM, LITERT),
        when.sums_several_axes,
        "Vela reads only the first axis of a SUM, and the first of those sums are taken for the "
        "output (Regor, tflite/tflite_reader.cpp, CreateAxisAttribute).",
        confirms=value.summed,
    ),
    Known(
        "sum-several-axes-beyond",
        "Vela",
        (FAULT,),
        when.sums_several_axes_for_caller,
        "Vela reads only the first axis of a SUM, so there are more sums than the caller's buffer "
        "has room for; the model faults (Regor, tflite/tflite_reader.cpp, CreateAxisAttribute).",
    ),
    Known(
        "sum-last-axis",
        "Vela",
        (FAULT,),
        when.sums_dropped_last_axis,
        "Without keep_dims and zero point, a SUM over the last axis asks for a REDUCE_SUM with "
        "more than one output channel; the model faults (Regor, compiler/graphir_optimiser.cpp, "
        "RewriteReduceSum).",
    ),
    Known(
        "sum-rounding",
        "Vela",
        (TFLM,),
        when.has("SUM", dtypes=("int8", "uint8", "int16")),
        "TFLite Micro rounds a SUM twice, Vela asks the NPU to round once: round_mode NATURAL "
        "(TFLite, tensorflow/lite/kernels/internal/reference/reduce.h, QuantizedMeanOrSum; Regor, "
        "compiler/graphir_optimiser.cpp, RewriteReduceSum).",
        largest=1,
        confirms=value.summed,
    ),
    Known(
        "litert-sum",
        "LiteRT",
        (LITERT,),
        when.has("SUM", dtypes=("int8", "uint8", "int16")),
        "LiteRT 2.3's reference SUM of quantized tensors is not the sum of the reals (measured, "
        "for instance -1 for each of 21 sums of 16 values); TFLite Micro's agrees with the NPU but "
        "for its rounding.",
        confirms=value.summed,
    ),
    Known(
        "transpose-uint8",
        "Vela",
        (TFLM, LITERT),
        when.transposes_uint8,
        "Vela transposes uint8 as int8 but leaves ACTIVATION_MIN and MAX those of uint8, so values "
        "from 128 become 0 (Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, "
        "InsertTransposeCommand); its own table lists int8, int16 and int32 for TRANSPOSE "
        "(SUPPORTED_OPS.md).",
        confirms=value.transposed_below_128,
    ),
    Known(
        "lut-beyond-shram",
        "Vela",
        (FAULT,),
        when.table_after_transposition,
        "A table fused with a transposition is loaded behind the end of the SHRAM of the two "
        "smallest NPUs, since no room was reserved for it; the model faults (Regor, "
        "architecture/ethosu55/ethos_u55.cpp, lutBanks).",
        witness=("chain", "uint8", 13),
    ),
    Known(
        "high-rank-operand",
        "Vela",
        (TFLM, LITERT),
        when.steps_through_operand_of_lower_rank,
        "Vela takes tensors of more than four dimensions apart along the output's leading axes, "
        "and steps through an operand of fewer dimensions along the axes of the same number, which "
        "are others (Regor, compiler/scheduler_decompose.cpp, DecomposeLargeAxis).",
    ),
    Known(
        "pack-seven",
        "Vela",
        (TFLM, LITERT),
        when.packs_seven_dimensions,
        "The outermost of seven dimensions is never stepped along: the command stream does the "
        "work of its first slice again and leaves the others unwritten (disasm shows it; the "
        "copies come from Regor, compiler/tflite_graph_optimiser.cpp, RewritePack).",
        confirms=value.first_slice,
    ),
    Known(
        "mul-int32",
        "Vela",
        (TFLM, LITERT),
        when.has("MUL", dtypes=("int32",)),
        "The NPU only shifts a 32-bit product (Regor, "
        'architecture/ethosu55/ethos_u55_constraints.cpp: "supports shift-only if input or output '
        'is 32-bit"), but Vela writes the factor 1.0 as 2^30 with a shift of 30.',
        confirms=value.shifted_product,
    ),
    Known(
        "rounding-uint8",
        "TFLite Micro in int8",
        (TFLM,),
        when.has("AVERAGE_POOL_2D", "RESIZE_BILINEAR", dtypes=("uint8",)),
        "TFLite averages and interpolates uint8 with another rounding than int8 (half up, or "
        "truncated, instead of half away from zero), and TFLite Micro was asked in int8; LiteRT, "
        "asked in uint8, agrees with the NPU.",
        largest=1,
        agrees=LITERT,
    ),
    Known(
        "relu6-scale",
        "TFLite Micro",
        (TFLM,),
        when.rescales("RELU6"),
        "TFLite Micro's RELU6 clamps without rescaling to the output's scale "
        "(tensorflow/lite/micro/kernels/activations_common.cc, Relu6Prepare).",
        agrees=LITERT,
    ),
    Known(
        "rsqrt-int16",
        "TFLite Micro",
        (TFLM,),
        when.has("RSQRT", dtypes=("int16",)),
        "TFLite Micro computes each value (tensorflow/lite/micro/kernels/elementwise.cc), LiteRT "
        "and Vela interpolate in the same table of 512 segments (Regor, compiler/"
        "tflite_graph_optimiser.cpp, kRSqrtLut), which is coarse for small inputs.",
        agrees=LITERT,
    ),
    Known(
        "softmax-int16",
        "TFLite Micro",
        (TFLM,),
        when.has("SOFTMAX", dtypes=("int16",)),
        "TFLite Micro fills its tables in float (tensorflow/lite/micro/kernels/softmax_common.cc), "
        "LiteRT and Vela in double (LiteRT, tflite/kernels/activations.cc, SoftmaxPrepare).",
        largest=1,
        agrees=LITERT,
    ),
    Known(
        "logistic-fixed-point",
        "TFLite Micro",
        (TFLM,),
        when.has("LOGISTIC", "TANH", dtypes=("int8", "uint8")),
        "TFLite Micro computes 8-bit LOGISTIC and TANH in fixed point (tensorflow/lite/kernels/"
        "internal/reference/integer_ops/logistic.h and tanh.h), Vela and LiteRT fill a table in "
        "float (Regor, compiler/tflite_graph_optimiser.cpp, ConvertTanhSigmoidToLUT).",
        largest=1,
        agrees=LITERT,
        witness=("chain", "uint8", 1),
    ),
    Known(
        "logistic-steps",
        "TFLite Micro",
        (TFLM,),
        when.saturates_at_once,
        "Where one step of the input is more than 15, TFLite Micro takes even a real 0 for "
        "saturated: its input radius is 0 (tensorflow/lite/micro/kernels/logistic_common.cc).",
        agrees=LITERT,
        witness=("chain", "int8", 200),
    ),
    Known(
        "square-overflow",
        "TFLite Micro",
        (TFLM,),
        when.squares_beyond_32_bits,
        "TFLite Micro shifts the square left by the multiplier's power of two, in 32 bits: a "
        "large one overflows and changes its sign; the NPU saturates (tensorflow/lite/micro/"
        "kernels/squared_difference.cc, tensorflow/lite/kernels/internal/common.h).",
        agrees=LITERT,
        confirms=value.saturated_squares,
    ),
    Known(
        "factor-float",
        "TFLite Micro",
        (TFLM,),
        when.has("MUL", "LEAKY_RELU", "PRELU", "UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("int16",)),
        "TFLite Micro computes the quotient of scales in double (tensorflow/lite/micro/kernels/"
        "mul_common.cc), LiteRT and Vela in float; where a product lies halfway the difference "
        "decides.",
        largest=1,
        agrees=LITERT,
    ),
    Known(
        "factor-double",
        "LiteRT",
        (LITERT,),
        when.has("ABS", dtypes=("int16",)),
        "LiteRT computes the quotient of scales in float (tflite/kernels/elementwise.cc, "
        "SetAbsOutputMultiplier), Vela and TFLite Micro in double.",
        largest=1,
        agrees=TFLM,
    ),
    Known(
        "litert-rounds-once",
        "LiteRT",
        (LITERT,),
        when.has("FULLY_CONNECTED", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "LiteRT's reference FULLY_CONNECTED rounds once, TFLite Micro's and the NPU's twice "
        "(measured; the other operators of LiteRT's reference round twice).",
        agrees=TFLM,
    ),
    Known(
        "log-last-segment",
        "Vela",
        (LITERT,),
        when.has("LOG", dtypes=("int16",)),
        "The slope of the last segment of a 16-bit table is one too small where its base is "
        "negative: the base is not masked (Regor, compiler/lut_util.hpp).",
        confirms=value.only_in_last_segment,
        witness=("LOG", "int16", 30),
    ),
    Known(
        "lstm-cell-clip",
        "Vela",
        (TFLM, LITERT),
        when.clips_cells_at_a_fraction,
        "Vela keeps an LSTM's cell clip as an integer, so 1.25 clips at 1 and 0.8 not at all "
        "(Regor, compiler/attributes.hpp and lstm.hpp).",
        witness=("UNIDIRECTIONAL_SEQUENCE_LSTM", "int8", 47),
    ),
    Known(
        "transpose-into-part",
        "Vela",
        (TFLM, LITERT),
        when.transposes_into_part,
        "A transposition written straight into a padded tensor steps by the rows of the tensor "
        "without padding: slices of a 25x19 output follow each other by 23x19 (chain int8 18).",
        witness=("chain", "int8", 18),
    ),
)
"""In order: the first that explains a difference is its reason."""
