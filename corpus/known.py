"""What is known not to be 0, why, and where that is written.

An entry concerns the operators for which `applies` holds, and says what the NPU makes of them:
by a prediction worked out with numpy, or by what another oracle makes of the same operator, or of
that operator with another option. expectation.py puts that into the network; whatever differs from
the outcome by one bit is unexpected, and fails the tests. Regor is the C++ core of ethos-u-vela 5.2
(its sdist, below ethosu/regor); TFLite Micro and LiteRT are below their repositories' roots.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corpus import conditions as when
from corpus import lstm
from corpus import predictions as value
from corpus.conditions import Condition
from corpus.predictions import Prediction, Reading, Sequenced
from corpus.site import FAULT, LITERT, TFLM, Site


@dataclass(frozen=True)
class Known:
    """One difference: whose it is, which operators it concerns, what comes out of them, and why.

    `against` lists the oracles (or "fault") that it explains. One of these says what comes out:
    `value` works it out, `sequence` for an operator with a state; `reads` works out what the
    operator reads instead, beginning with its first inputs, and `edit` which of its options are
    others, so that the oracle can tell; `oracle` names the one that has the kernel and agrees;
    `fault` is what the model must say, a regular expression.
    `witness` is a key (operator, dtype, seed) of a network that shows it.
    """

    name: str
    owner: str
    against: tuple[str, ...]
    applies: Condition
    text: str
    witness: tuple[str, str, int]
    value: Prediction | None = None
    reads: Reading | None = None
    sequence: Sequenced | None = None
    oracle: str | None = None
    edit: Callable[[Site], Mapping[str, object]] | None = None
    fault: str | None = None


def find_known(site: Site, against: str) -> Known | None:
    """Return the entry that concerns an operator, None if there is none."""
    fitting = (entry for entry in KNOWN if against in entry.against)
    return next((entry for entry in fitting if entry.applies(site)), None)


def find_oracle(site: Site, against: str) -> str:
    """Return the oracle to ask for an operator: another one where an entry names it."""
    named = (e.oracle for e in KNOWN if e.oracle and against in e.against and e.applies(site))
    return next(named, against)


def find_fault(site: Site, why: str) -> Known | None:
    """Return the entry that foretells a fault of this text at an operator."""
    fitting = (entry for entry in KNOWN if entry.fault and re.search(entry.fault, why))
    return next((entry for entry in fitting if entry.applies(site)), None)


# ---- the table -----------------------------------------------------------------------------------

KNOWN: tuple[Known, ...] = (
    Known(
        "mirror-pad-axes",
        "Vela",
        (TFLM, LITERT),
        when.mirrors_elsewhere,
        "Vela takes every MIRROR_PAD but pads height and width only; along other dimensions the "
        "output is left unwritten (Regor, compiler/tflite_graph_optimiser.cpp, ConvertMirrorPad).",
        value=value.mirrored_in_plane,
        witness=("MIRROR_PAD", "int8", 9),
    ),
    Known(
        "reduce-dropped-axis",
        "Vela",
        (TFLM, LITERT),
        when.reduces_dropped_axis,
        "A maximum or minimum is reshaped around its axis in the shape of the output, which no "
        "longer has the axis without keep_dims: if anything lies before the axis, a window slides "
        "over the first rows, instead of one over each row (Regor, compiler/"
        "scheduler_decompose.cpp, DecomposeReduce; compiler/graphir_optimiser.cpp, "
        "RewriteReduceMin).",
        value=value.slid,
        witness=("REDUCE_MAX", "int8", 5),
    ),
    Known(
        "sum-several-axes",
        "Vela",
        (TFLM, LITERT),
        when.sums_several_axes,
        "Vela reads only the first axis of a SUM, and the first of those sums are taken for the "
        "output (Regor, tflite/tflite_reader.cpp, CreateAxisAttribute).",
        value=value.summed,
        witness=("SUM", "int8", 0),
    ),
    Known(
        "sum-several-axes-beyond",
        "Vela",
        (FAULT,),
        when.sums_several_axes_for_caller,
        "Vela reads only the first axis of a SUM, so there are more sums than the caller's buffer "
        "has room for; the model faults (Regor, tflite/tflite_reader.cpp, CreateAxisAttribute).",
        fault="write outside the memories",
        witness=("SUM", "uint8", 5),
    ),
    Known(
        "sum-last-axis",
        "Vela",
        (FAULT,),
        when.sums_dropped_last_axis,
        "Without keep_dims and zero point, a SUM over the last axis asks for a REDUCE_SUM with "
        "more than one output channel; the model faults (Regor, compiler/graphir_optimiser.cpp, "
        "RewriteReduceSum).",
        fault="REDUCE_SUM cannot have IFM and OFM depths|a sum over channels needs a kernel of 1x1",
        witness=("SUM", "int16", 4),
    ),
    Known(
        "sum-rounding",
        "Vela",
        (TFLM,),
        when.has("SUM", dtypes=("int8", "uint8", "int16")),
        "TFLite Micro rounds a SUM twice, Vela asks the NPU to round once: round_mode NATURAL "
        "(TFLite, tensorflow/lite/kernels/internal/reference/reduce.h, QuantizedMeanOrSum; Regor, "
        "compiler/graphir_optimiser.cpp, RewriteReduceSum).",
        value=value.summed,
        witness=("SUM", "int8", 2),
    ),
    Known(
        "litert-sum",
        "LiteRT",
        (LITERT,),
        when.has("SUM", dtypes=("int8", "uint8", "int16")),
        "LiteRT 2.3's reference SUM of quantized tensors is not the sum of the reals (measured, "
        "for instance -1 for each of 21 sums of 16 values); TFLite Micro's agrees with the NPU but "
        "for its rounding.",
        value=value.summed,
        witness=("SUM", "int8", 1),
    ),
    Known(
        "transpose-uint8",
        "Vela",
        (TFLM, LITERT),
        when.transposes_uint8,
        "Vela transposes uint8 as int8 but leaves ACTIVATION_MIN and MAX those of uint8, so values "
        "from 128 become 0; with a depthwise multiplier too, which is a transposition (Regor, "
        "architecture/ethosu55/ethos_u55_register_cs_generator.cpp, InsertTransposeCommand); its "
        "own table lists int8, int16 and int32 for TRANSPOSE (SUPPORTED_OPS.md).",
        value=value.transposed_as_int8,
        witness=("TRANSPOSE", "uint8", 1),
    ),
    Known(
        "resize-cascade",
        "Vela",
        (TFLM, LITERT),
        when.enlarges_one_column_in_a_cascade,
        "Vela enlarges in steps of two. A step of a single column, in stripes of 2x1, is said to "
        "read 2x1 too, so it counts as one to one, and its output gets the rolling buffer of its "
        "input: of four rows the first overwrites the others (Regor, compiler/"
        "cascade_builder.cpp, CanReuseCascadeRollingBuffer; disasm shows both at one address).",
        reads=value.first_of_four_rows,
        witness=("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952695),
    ),
    Known(
        "table-uint8",
        "Vela",
        (TFLM, LITERT),
        when.table_after_transposition_of_uint8,
        "A table fused with a transposition of uint8 is looked up by an int8 value, so 128 too far "
        "(see the transposition of uint8).",
        reads=value.shifted_by_half,
        witness=("chain", "uint8", 13),
    ),
    Known(
        "clip-uint8",
        "Vela",
        (TFLM, LITERT),
        when.clips_a_transposition_of_uint8,
        "An activation fused with a transposition of uint8 clips int8 values at limits of uint8 "
        "(see the transposition of uint8): from 128 on the lower one is above the upper one.",
        value=value.clipped_as_int8,
        witness=("chain", "uint8", 9000001),
    ),
    Known(
        "lut-beyond-shram",
        "Vela",
        (FAULT,),
        when.table_beyond_shram,
        "A table fused with a transposition is loaded behind the end of the SHRAM of the two "
        "smallest NPUs, since no room was reserved for it; the model faults (Regor, "
        "architecture/ethosu55/ethos_u55.cpp, lutBanks).",
        fault=r"a transfer of \d+ bytes at \S+ is outside SHRAM",
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
        reads=value.stepped_by_leading_axes,
        witness=("high rank", "int16", 4),
    ),
    Known(
        "pack-seven",
        "Vela",
        (TFLM, LITERT),
        when.packs_seven_dimensions,
        "The outermost of seven dimensions is never stepped along: the command stream does the "
        "work of its first slice again and leaves the others unwritten (disasm shows it; the "
        "copies come from Regor, compiler/tflite_graph_optimiser.cpp, RewritePack).",
        value=value.first_slice,
        witness=("high rank", "int8", 1),
    ),
    Known(
        "groups-of-batches",
        "Vela",
        (TFLM, LITERT),
        when.pads_groups_of_batches,
        "A CONV_2D of groups on more than one batch gets all its padding behind, none before: "
        "disasm shows 0, 0, 8, 8 instead of 4 on each side (Regor, "
        "compiler/scheduler_decompose.cpp, DecomposeConv2D and UpdatePaddingAndIfmOffset).",
        reads=value.padded_behind,
        edit=lambda _site: {"padding": "VALID"},
        witness=("CONV_2D", "int8", 5000002),
    ),
    Known(
        "mul-int32",
        "Vela",
        (TFLM, LITERT),
        when.multiplies_int32_with_scale,
        "The NPU only shifts a 32-bit product (Regor, "
        'architecture/ethosu55/ethos_u55_constraints.cpp: "supports shift-only if input or output '
        'is 32-bit"), but where the tensors have scales Vela writes a factor too: 1.0 as 2^30 '
        "with a shift of 30.",
        value=value.shifted_product,
        witness=("MUL", "int32", 1),
    ),
    Known(
        "int32-saturates",
        "Vela",
        (TFLM, LITERT),
        when.has("ADD", "SUB", "MUL", dtypes=("int32",)),
        "Sums, differences and products of 32 bits saturate on the NPU; TFLite Micro's and "
        "LiteRT's wrap around (tensorflow/lite/kernels/internal/reference/add.h, sub.h, mul.h).",
        witness=("ADD", "int32", 1),
        value=value.saturated,
    ),
    Known(
        "neg-lowest",
        "Vela",
        (LITERT,),
        when.has("NEG"),
        "The negative of the lowest value saturates on the NPU; in TFLite it is the lowest value "
        "again (tflite/kernels/internal/reference/neg.h).",
        witness=("NEG", "int8", 0),
        value=value.negated,
    ),
    Known(
        "sum-int32-saturates",
        "Vela",
        (LITERT,),
        when.has("SUM", dtypes=("int32",)),
        "A SUM of 32 bits saturates on the NPU, and wraps around in LiteRT "
        "(tflite/kernels/internal/reference/reduce.h).",
        witness=("SUM", "int32", 0),
        value=value.summed,
    ),
    Known(
        "log-last-segment",
        "Vela",
        (LITERT,),
        when.has("LOG", dtypes=("int16",)),
        "The slope of the last segment of a 16-bit table is one too small where its base is "
        "negative: the base is not masked (Regor, compiler/lut_util.hpp).",
        value=value.flatter_in_last_segment,
        witness=("LOG", "int16", 30),
    ),
    Known(
        "lstm-cell-clip",
        "Vela",
        (TFLM, LITERT),
        when.clips_cells_at_a_fraction,
        "Vela keeps an LSTM's cell clip as an integer, so 1.25 clips at 1 and 0.8 not at all "
        "(Regor, compiler/attributes.hpp and lstm.hpp).",
        edit=lambda site: {"cell_clip": float(int(site.operator.options["cell_clip"]))},
        witness=("UNIDIRECTIONAL_SEQUENCE_LSTM", "int8", 47),
    ),
    Known(
        "transpose-into-part",
        "Vela",
        (TFLM, LITERT),
        when.transposes_into_part,
        "What a transposition with a table writes straight into a padded tensor steps by the rows "
        "of the tensor without padding: slices of a 25x19 output follow each other by 23x19 (chain "
        "int8 18; tried on every order of the axes, without a table all are right).",
        value=value.packed_rows,
        witness=("chain", "int8", 18),
    ),
    Known(
        "rounding-uint8",
        "TFLite Micro in int8",
        (TFLM,),
        when.has("AVERAGE_POOL_2D", "RESIZE_BILINEAR", dtypes=("uint8",)),
        "TFLite averages and interpolates uint8 with another rounding than int8 (half up, or "
        "truncated, instead of half away from zero), and TFLite Micro was asked in int8; LiteRT, "
        "asked in uint8, agrees with the NPU.",
        oracle=LITERT,
        witness=("RESIZE_BILINEAR", "uint8", 77007),
    ),
    Known(
        "factor-uint8",
        "TFLite Micro in int8",
        (TFLM,),
        when.rounds_a_product,
        "A uint8 convolution multiplies the scales of image and weights in float (LiteRT, tflite/"
        "kernels/kernel_util.cc, GetQuantizedConvolutionMultipler; Regor, tflite/"
        "tflite_scaling.cpp), an int8 one in double, and TFLite Micro was asked in int8; where a "
        "product lies halfway the difference decides.",
        oracle=LITERT,
        witness=("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952692),
    ),
    Known(
        "relu6-scale",
        "TFLite Micro",
        (TFLM,),
        when.rescales("RELU6"),
        "TFLite Micro's RELU6 clamps without rescaling to the output's scale "
        "(tensorflow/lite/micro/kernels/activations_common.cc, Relu6Prepare).",
        oracle=LITERT,
        witness=("RELU6", "int8", 0),
    ),
    Known(
        "rsqrt-int16",
        "TFLite Micro",
        (TFLM,),
        when.has("RSQRT", dtypes=("int16",)),
        "TFLite Micro computes each value (tensorflow/lite/micro/kernels/elementwise.cc), LiteRT "
        "and Vela interpolate in the same table of 512 segments (Regor, compiler/"
        "tflite_graph_optimiser.cpp, kRSqrtLut), which is coarse for small inputs.",
        oracle=LITERT,
        witness=("RSQRT", "int16", 0),
    ),
    Known(
        "softmax-int16",
        "TFLite Micro",
        (TFLM,),
        when.has("SOFTMAX", dtypes=("int16",)),
        "TFLite Micro fills its tables in float (tensorflow/lite/micro/kernels/softmax_common.cc), "
        "LiteRT and Vela in double (LiteRT, tflite/kernels/activations.cc, SoftmaxPrepare).",
        oracle=LITERT,
        witness=("SOFTMAX", "int16", 0),
    ),
    Known(
        "logistic-steps",
        "TFLite Micro",
        (TFLM,),
        when.saturates_at_once,
        "Where one step of the input is 8 or more, TFLite Micro takes even a real 0 for "
        "saturated: its input radius is 0 (tensorflow/lite/micro/kernels/logistic_common.cc).",
        oracle=LITERT,
        witness=("chain", "int8", 200),
    ),
    Known(
        "logistic-fixed-point",
        "TFLite Micro",
        (TFLM,),
        when.has("LOGISTIC", "TANH", dtypes=("int8", "uint8")),
        "TFLite Micro computes 8-bit LOGISTIC and TANH in fixed point (tensorflow/lite/kernels/"
        "internal/reference/integer_ops/logistic.h and tanh.h), Vela and LiteRT fill a table in "
        "float (Regor, compiler/tflite_graph_optimiser.cpp, ConvertTanhSigmoidToLUT).",
        oracle=LITERT,
        witness=("chain", "uint8", 1),
    ),
    Known(
        "square-overflow",
        "TFLite Micro",
        (TFLM,),
        when.squares_beyond_32_bits,
        "TFLite Micro shifts the square left by the multiplier's power of two, in 32 bits: a "
        "large one overflows and changes its sign; the NPU saturates (tensorflow/lite/micro/"
        "kernels/squared_difference.cc, tensorflow/lite/kernels/internal/common.h).",
        value=value.saturated_squares,
        witness=("SQUARED_DIFFERENCE", "int16", 2),
    ),
    Known(
        "sum-wraps",
        "TFLite Micro and LiteRT",
        (TFLM, LITERT),
        when.rescales_beyond_32_bits,
        "A 64-bit sum, mostly a large bias, that exceeds 32 bits in steps of the output is cut to "
        "32 bits in TFLite and changes its sign; the NPU saturates (TFLite, tensorflow/lite/"
        "kernels/internal/common.cc, MultiplyByQuantizedMultiplier for int64_t, which assumes that "
        "the result fits).",
        reads=value.limited_bias,
        witness=("cascade", "int16", 5952692),
    ),
    Known(
        "factor-float",
        "TFLite Micro",
        (TFLM,),
        when.rounds_a_quotient,
        "TFLite Micro computes the quotient of scales in double (tensorflow/lite/micro/kernels/"
        "mul_common.cc; activations_common.cc, which did so in float until the autumn of 2026), "
        "LiteRT and Vela in float; where a product lies halfway the difference decides. MUL, RELU, "
        "LEAKY_RELU and PRELU do so; a row of 0 means that no value of this run lay there.",
        oracle=LITERT,
        witness=("RELU", "int16", 77006),
    ),
    Known(
        "factor-float-lstm",
        "TFLite Micro",
        (TFLM,),
        when.rounds_a_hidden_state,
        "TFLite Micro computes the factor of an LSTM's hidden state in double (tensorflow/lite/"
        "micro/kernels/lstm_eval_common.cc), Vela in float (Regor, compiler/lstm.cpp, "
        "CalculateOutputState; common/scaling.hpp, ElementwiseMulScale).",
        sequence=lstm.with_factor_in_float,
        witness=("UNIDIRECTIONAL_SEQUENCE_LSTM", "int16", 1),
    ),
    Known(
        "factor-double",
        "LiteRT",
        (LITERT,),
        when.has("ABS", dtypes=("int16",)),
        "LiteRT computes the quotient of scales in float (tflite/kernels/elementwise.cc, "
        "SetAbsOutputMultiplier), Vela and TFLite Micro in double.",
        oracle=TFLM,
        witness=("ABS", "int16", 10),
    ),
    Known(
        "litert-rounds-once",
        "LiteRT",
        (LITERT,),
        when.has("FULLY_CONNECTED", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "LiteRT's reference FULLY_CONNECTED rounds once, TFLite Micro's and the NPU's twice "
        "(measured; the other operators of LiteRT's reference round twice).",
        oracle=TFLM,
        witness=("FULLY_CONNECTED", "int16", 0),
    ),
)
"""In order: the first that explains a difference is its reason."""
