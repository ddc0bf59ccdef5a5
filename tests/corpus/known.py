"""Known differences, their reasons, and the sources that prove them.

An entry covers the operators for which `applies` is true, and predicts the NPU's output: with
numpy, with another oracle, or with the oracle and another option of the operator. expectation.py
puts the prediction into the network; an output that differs from it by one bit is unexpected and
fails the tests. Regor is the C++ core of ethos-u-vela 5.2 (its sdist, in ethosu/regor); paths in
TFLite Micro and LiteRT are relative to their repositories.

Nearly all of the file is the table KNOWN, in which a difference is looked up, so it stays in one
piece; how to recognise and predict one is in conditions.py and predictions.py.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass

from tests.corpus import conditions as when
from tests.corpus import lstm
from tests.corpus import predictions as value
from tests.corpus.conditions import Condition
from tests.corpus.predictions import Prediction, Reading, Sequenced
from tests.corpus.site import FAULT, LITERT, TFLM, OperatorSite


@dataclass(frozen=True)
class Known:
    """One difference: its owner, the operators that it covers, their outputs, and the reason.

    `against` lists the oracles (or "fault") whose differences it explains. One field predicts the
    outputs: `value` computes them, `sequence` does so for an operator with a state; `reads`
    computes the inputs that the operator reads instead, starting with the first, and `edit` the
    options that it uses instead, and the oracle then computes the outputs; `oracle` names the one
    whose kernel agrees; `fault` is a regular expression for the model's message.
    `witness` is the key (operator, dtype, seed) of a network that shows the difference. `text` is
    empty where the sentence and the source of the erratum of that name say it all.
    """

    name: str
    owner: str
    against: tuple[str, ...]
    applies: Condition
    text: str = ""
    _: KW_ONLY
    witness: tuple[str, str, int]
    value: Prediction | None = None
    reads: Reading | None = None
    sequence: Sequenced | None = None
    oracle: str | None = None
    edit: Callable[[OperatorSite], Mapping[str, object]] | None = None
    fault: str | None = None


def find_known(site: OperatorSite, against: str) -> Known | None:
    """Return the entry that covers an operator, None if there is none."""
    fitting = (entry for entry in KNOWN if against in entry.against)
    return next((entry for entry in fitting if entry.applies(site)), None)


def find_oracle(site: OperatorSite, against: str) -> str:
    """Return the oracle to ask for an operator: `against`, unless an entry names another one."""
    named = (e.oracle for e in KNOWN if e.oracle and against in e.against and e.applies(site))
    return next(named, against)


def find_fault(site: OperatorSite, why: str) -> Known | None:
    """Return the entry that predicts a fault with this message at an operator."""
    fitting = (entry for entry in KNOWN if entry.fault and re.search(entry.fault, why))
    return next((entry for entry in fitting if entry.applies(site)), None)


# ---- the table -----------------------------------------------------------------------------------

KNOWN: tuple[Known, ...] = (
    Known(
        "mirror-pad-axes",
        "Vela",
        (TFLM, LITERT),
        when.mirrors_elsewhere,
        value=value.mirrored_in_plane,
        witness=("MIRROR_PAD", "int8", 9),
    ),
    Known(
        "reduce-dropped-axis",
        "Vela",
        (TFLM, LITERT),
        when.reduces_dropped_axis,
        value=value.slid,
        witness=("REDUCE_MAX", "int8", 5),
    ),
    Known(
        "reduce-dropped-axis-padding",
        "Vela",
        (FAULT,),
        when.reduces_dropped_axis,
        "For the same reason, windows of a maximum or minimum can be in the padding only; the "
        "model of U85 faults, as the sources do not define the result.",
        fault="pooling M[AI][XN] of only padding is not modelled",
        witness=("REDUCE_MIN", "int32", 0),
    ),
    Known(
        "div-stored",
        "Vela",
        (TFLM, LITERT),
        when.divides_stored_values,
        value=value.divided,
        witness=("DIV", "int8", 2),
    ),
    Known(
        "div-stored-zero",
        "Vela",
        (FAULT,),
        when.divides_stored_values,
        "For the same reason a stored value of 0, which is not 0 if there is a zero point, divides "
        "by 0; the model faults, as the sources do not define the result.",
        fault="a division by 0 is not modelled",
        witness=("DIV", "uint8", 0),
    ),
    Known(
        "order-int16",
        "LiteRT",
        (LITERT,),
        when.scales_16_bits,
        value=value.compared,
        witness=("LESS", "int16", 1),
    ),
    Known(
        "comparison-rounding",
        "Vela",
        (TFLM, LITERT),
        when.compares_otherwise,
        "TFLite shifts operands left by 8 bits before it scales them and rounds twice; Vela takes "
        "8 from the shift instead, and tells the NPU no shift for the first rounding, which is "
        "coarser then (TFLite, tensorflow/lite/kernels/internal/reference/comparisons.h; Regor, "
        "compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit).",
        value=value.compared,
        witness=("GREATER", "int8", 18),
    ),
    Known(
        "sum-several-axes",
        "Vela",
        (TFLM, LITERT),
        when.sums_several_axes,
        value=value.summed,
        witness=("SUM", "int8", 0),
    ),
    Known(
        "sum-several-axes-beyond",
        "Vela",
        (FAULT,),
        when.sums_several_axes_for_caller,
        "Vela reads only the first axis of a SUM, so there are more sums than fit in the caller's "
        "buffer; the model faults (Regor, tflite/tflite_reader.cpp, CreateAxisAttribute).",
        fault="write outside the memories",
        witness=("SUM", "uint8", 5),
    ),
    Known(
        "sum-last-axis",
        "Vela",
        (FAULT,),
        when.sums_dropped_last_axis,
        fault="REDUCE_SUM cannot have IFM and OFM depths|a sum over channels needs a kernel of 1x1",
        witness=("SUM", "int16", 4),
    ),
    Known(
        "sum-rounding",
        "Vela",
        (TFLM,),
        when.has("SUM", dtypes=("int8", "uint8", "int16")),
        value=value.summed,
        witness=("SUM", "int8", 2),
    ),
    Known(
        "litert-sum",
        "LiteRT",
        (LITERT,),
        when.has("SUM", dtypes=("int8", "uint8", "int16")),
        "LiteRT 2.3's reference SUM of quantized tensors is not the sum of the real values "
        "(measured, for example -1 for each of 21 sums of 16 values); TFLite Micro's differs from "
        "the NPU only in its rounding.",
        value=value.summed,
        witness=("SUM", "int8", 1),
    ),
    Known(
        "transpose-uint8",
        "Vela",
        (TFLM, LITERT),
        when.before_u85(when.transposes_uint8),
        "Vela transposes uint8 as int8 but keeps ACTIVATION_MIN and MAX of uint8, so values from "
        "128 become 0; the same happens with a depthwise multiplier, which Vela compiles to a "
        "transposition (Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, "
        "InsertTransposeCommand). Vela's own table lists int8, int16 and int32 for TRANSPOSE "
        "(SUPPORTED_OPS.md).",
        value=value.transposed_as_int8,
        witness=("TRANSPOSE", "uint8", 1),
    ),
    Known(
        "resize-cascade",
        "Vela",
        (TFLM, LITERT),
        when.before_u85(when.enlarges_one_column_in_a_cascade),
        "Vela enlarges in steps of two. For a step with a single column, in stripes of 2x1, Vela "
        "assumes that it reads 2x1 too and treats it as one to one, so its output gets the rolling "
        "buffer of its input: the first of four rows overwrites the others (Regor, compiler/"
        "cascade_builder.cpp, CanReuseCascadeRollingBuffer; disasm shows both at one address).",
        reads=value.first_of_four_rows,
        witness=("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952695),
    ),
    Known(
        "resize-nearest",
        "Vela",
        (TFLM, LITERT),
        when.takes_other_pixels,
        value=value.nearest_centres,
        witness=("RESIZE_NEAREST_NEIGHBOR", "int8", 18),
    ),
    Known(
        "table-uint8",
        "Vela",
        (TFLM, LITERT),
        when.before_u85(when.table_after_transposition_of_uint8),
        reads=value.shifted_by_half,
        witness=("chain", "uint8", 13),
    ),
    Known(
        "clip-uint8",
        "Vela",
        (TFLM, LITERT),
        when.before_u85(when.clips_a_transposition_of_uint8),
        "An activation fused with a transposition of uint8 clips int8 values at uint8 limits "
        "(see the transposition of uint8): from 128 on, the lower limit exceeds the upper one.",
        value=value.clipped_as_int8,
        witness=("chain", "uint8", 9000001),
    ),
    Known(
        "lut-beyond-shram",
        "Vela",
        (FAULT,),
        when.table_beyond_shram,
        fault=r"a transfer of \d+ bytes at \S+ is outside the NPU's own memory",
        witness=("chain", "uint8", 13),
    ),
    Known(
        "high-rank-operand",
        "Vela",
        (TFLM, LITERT),
        when.steps_through_operand_of_lower_rank,
        reads=value.stepped_by_leading_axes,
        witness=("high rank", "int16", 4),
    ),
    Known(
        "pack-seven",
        "Vela",
        (TFLM, LITERT),
        when.packs_seven_dimensions,
        value=value.first_slice,
        witness=("high rank", "int8", 1),
    ),
    Known(
        "groups-of-batches",
        "Vela",
        (TFLM, LITERT),
        when.pads_groups_of_batches,
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
        'is 32-bit"), but if the tensors have scales Vela also writes a factor: 1.0 is 2^30 '
        "with a shift of 30.",
        value=value.shifted_product,
        witness=("MUL", "int32", 1),
    ),
    Known(
        "int32-saturates",
        "Vela",
        (TFLM, LITERT),
        when.has("ADD", "SUB", "MUL", dtypes=("int32",)),
        "32-bit sums, differences and products saturate on U55 and U65; in TFLite Micro and LiteRT "
        "they wrap around (tensorflow/lite/kernels/internal/reference/add.h, sub.h, mul.h), and so "
        "they do on U85, for which Vela asks for no clip range (Regor, architecture/ethosu85/"
        "ethos_u85_register_cs_generator.cpp, GenerateActivation).",
        witness=("ADD", "int32", 1),
        value=value.saturated,
    ),
    Known(
        "neg-lowest",
        "Vela",
        (LITERT,),
        when.has("NEG"),
        "The negative of the lowest value saturates on the NPU, except in 32 bits on U85; in "
        "TFLite it wraps around to the lowest value (tflite/kernels/internal/reference/neg.h).",
        witness=("NEG", "int8", 0),
        value=value.negated,
    ),
    Known(
        "sum-int32-saturates",
        "Vela",
        (LITERT,),
        when.has("SUM", dtypes=("int32",)),
        "A 32-bit SUM saturates on U55 and U65 and wraps around in LiteRT "
        "(tflite/kernels/internal/reference/reduce.h).",
        witness=("SUM", "int32", 0),
        value=value.summed,
    ),
    Known(
        "log-last-segment",
        "Vela",
        (LITERT,),
        when.has("LOG", dtypes=("int16",)),
        value=value.flatter_in_last_segment,
        witness=("LOG", "int16", 30),
    ),
    Known(
        "lstm-cell-clip",
        "Vela",
        (TFLM, LITERT),
        when.clips_cells_at_a_fraction,
        edit=lambda site: {"cell_clip": float(int(site.operator.options["cell_clip"]))},
        witness=("UNIDIRECTIONAL_SEQUENCE_LSTM", "int8", 47),
    ),
    Known(
        "transpose-into-part",
        "Vela",
        (TFLM, LITERT),
        when.transposes_into_part,
        "A transposition with a table that writes directly into a padded tensor uses the row "
        "stride of the tensor without padding: slices of a 25x19 output are 23x19 apart (chain "
        "int8 18; tried with every order of the axes; without a table all are correct).",
        value=value.packed_rows,
        witness=("chain", "int8", 18),
    ),
    Known(
        "rounding-uint8",
        "TFLite Micro in int8",
        (TFLM,),
        when.has("AVERAGE_POOL_2D", "RESIZE_BILINEAR", dtypes=("uint8",)),
        "TFLite rounds averages and interpolations of uint8 differently from int8 (half up, or "
        "truncated, instead of half away from zero), and TFLite Micro runs the int8 twin; LiteRT, "
        "which runs uint8, agrees with the NPU.",
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
        "tflite_scaling.cpp), an int8 one in double, and TFLite Micro runs the int8 twin; the "
        "difference matters if a product is halfway between two values.",
        oracle=LITERT,
        witness=("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952692),
    ),
    Known(
        "relu6-scale",
        "TFLite Micro",
        (TFLM,),
        when.rescales("RELU6"),
        oracle=LITERT,
        witness=("RELU6", "int8", 0),
    ),
    Known(
        "rsqrt-int16",
        "TFLite Micro",
        (TFLM,),
        when.has("RSQRT", dtypes=("int16",)),
        oracle=LITERT,
        witness=("RSQRT", "int16", 0),
    ),
    Known(
        "softmax-int16",
        "TFLite Micro",
        (TFLM,),
        when.has("SOFTMAX", dtypes=("int16",)),
        oracle=LITERT,
        witness=("SOFTMAX", "int16", 0),
    ),
    Known(
        "logistic-steps",
        "TFLite Micro",
        (TFLM,),
        when.saturates_at_once,
        "If one step of the input is 8 or more, TFLite Micro saturates even a real value of 0: "
        "its input radius is 0 (tensorflow/lite/micro/kernels/logistic_common.cc).",
        oracle=LITERT,
        witness=("chain", "int8", 200),
    ),
    Known(
        "logistic-fixed-point",
        "TFLite Micro",
        (TFLM,),
        when.has("LOGISTIC", "TANH", dtypes=("int8", "uint8")),
        "TFLite Micro computes 8-bit LOGISTIC and TANH in fixed point (tensorflow/lite/kernels/"
        "internal/reference/integer_ops/logistic.h and tanh.h); Vela and LiteRT compute a table in "
        "float (Regor, compiler/tflite_graph_optimiser.cpp, ConvertTanhSigmoidToLUT).",
        oracle=LITERT,
        witness=("chain", "uint8", 1),
    ),
    Known(
        "square-overflow",
        "TFLite Micro",
        (TFLM,),
        when.squares_beyond_32_bits,
        value=value.saturated_squares,
        witness=("SQUARED_DIFFERENCE", "int16", 2),
    ),
    Known(
        "sum-wraps",
        "TFLite Micro and LiteRT",
        (TFLM, LITERT),
        when.rescales_beyond_32_bits,
        "A 64-bit sum (usually with a large bias) that exceeds 32 bits after rescaling is "
        "truncated to 32 bits in TFLite and changes its sign; the NPU saturates (TFLite, "
        "tensorflow/lite/kernels/internal/common.cc, MultiplyByQuantizedMultiplier for int64_t, "
        "which assumes that the result fits).",
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
        "LiteRT and Vela in float; the difference matters if a product is halfway between two "
        "values. This concerns MUL, RELU, LEAKY_RELU and PRELU; a row of 0 means that no value of "
        "this run was halfway.",
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
        when.rounds_once,
        "LiteRT's reference FULLY_CONNECTED rounds once, TFLite Micro's and the NPU's twice "
        "(measured; LiteRT's other reference operators round twice).",
        oracle=TFLM,
        witness=("FULLY_CONNECTED", "int16", 0),
    ),
    Known(
        "litert-rounds-once-shifted",
        "LiteRT",
        (LITERT,),
        when.has("FULLY_CONNECTED", dtypes=("uint8",)),
        "The same with uint8: a network has no int8 twin for TFLite Micro if any of its weights "
        "has a zero point other than 128.",
        value=value.rounded_twice,
        witness=("FULLY_CONNECTED", "uint8", 7628579),
    ),
)
"""In this order: the first entry that explains a difference is its reason."""
