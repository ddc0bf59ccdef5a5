"""The table of errata, in the order in which they are checked.

Regor is the C++ core of ethos-u-vela (its sdist, below ethosu/regor); TFLite Micro and LiteRT are
below their repositories' roots. tests/errata has a minimal network for each entry.
"""

from ethosgen.backend.ethosu.offload import errata_conditions as when
from ethosgen.backend.ethosu.offload import errata_curves as curves
from ethosgen.backend.ethosu.offload import errata_parts as parts
from ethosgen.backend.ethosu.offload import errata_products as products
from ethosgen.backend.ethosu.offload import errata_rescaling as rescaling
from ethosgen.backend.ethosu.offload import errata_u85 as u85
from ethosgen.backend.ethosu.offload.erratum import LITERT, TFLM, VELA, Erratum
from ethosgen.backend.ethosu.offload.scale_format import loses_scale

_QUANTIZED = ("int8", "int16")

PADDED_POOL = Erratum(
    "max-pool-padding",
    VELA,
    u85.pools_on_accumulators,
    "with padding and a stride of more than 3 it makes a maximum of each place within the window, "
    "on the accumulators of the ones before; some windows are only padding, and no document says "
    "what their maximum is",
    "Regor, compiler/scheduler_decompose.cpp, DecomposeMaxPool and DecomposeForStrides, which "
    "serves convolutions as well; architecture/ethosu85/ethos_u85_register_cs_generator.cpp, "
    "GenerateAccFormat",
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "mirror-pad-axes",
        VELA,
        when.mirrors_elsewhere,
        "it pads only height and width, and leaves the rest of the output unwritten",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertMirrorPad",
    ),
    Erratum(
        "reduce-dropped-axis",
        VELA,
        when.reduces_dropped_axis,
        "without keep_dims, if anything precedes the axis, it slides a window over the first "
        "rows instead of reducing each row",
        "Regor, compiler/scheduler_decompose.cpp, DecomposeReduce; "
        "compiler/graphir_optimiser.cpp, RewriteReduceMin",
    ),
    Erratum(
        "mean-five-dimensions",
        VELA,
        when.averages_beyond_four_dimensions,
        "with more than four dimensions it averages only height and width, or the wrong ones",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertMeanOps; "
        "tflite/tflite_supported_operators.cpp, UnitBatch",
    ),
    Erratum(
        "div-stored",
        VELA,
        u85.divides_stored_values,
        "it divides the stored values of quantized tensors, without their scales and zero points",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertZeroPoint; "
        "architecture/ethosu85/ethos_u85_constraints.cpp, SupportedIFMQuant",
    ),
    Erratum(
        "order-int16",
        "LiteRT",
        u85.scales_16_bits,
        "LiteRT compares the stored values of int16, the NPU the scaled ones",
        "LiteRT, tflite/kernels/comparisons.cc; TFLite Micro, "
        "tensorflow/lite/micro/kernels/comparisons.cc, has only GREATER, with factors that it "
        "does not set",
    ),
    Erratum(
        "comparison-int32",
        VELA,
        u85.scales_integers,
        "it scales the operands of a comparison in int32, whose stored values TFLite compares",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit; TFLite Micro, "
        "tensorflow/lite/micro/kernels/comparisons.cc",
    ),
    Erratum(
        "comparison-rounding",
        VELA,
        u85.compares_otherwise,
        "it rounds the scaled operands 8 bits earlier than TFLite, so that nearby values can "
        "become equal",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit, which sets no "
        "double_round_shift_attr_t; TFLite, kernels/internal/reference/comparisons.h",
    ),
    Erratum(
        "div-relu",
        VELA,
        u85.clips_wide_quotient,
        "with RELU it clips quotients of int32 to bounds from 0 to -1, which are the lower 16 bits",
        "Regor, architecture/ethosu85/ethos_u85_register_cs_generator.cpp, GenerateActivation, "
        "which only asserts 16 bits",
    ),
    Erratum(
        "div-scales",
        VELA,
        u85.scales_quotient,
        "without a scale of the quotient it scales the operands of a DIV in int32, whose stored "
        "values TFLite divides",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit, which has no "
        "case for DIV; TFLite Micro, tensorflow/lite/micro/kernels/div.cc",
    ),
    Erratum(
        "int64-copies",
        VELA,
        u85.copies_int64,
        "it copies int64 by accumulators of 48 bits, and no document says what becomes of larger "
        "values",
        "Regor, architecture/ethosu85/ethos_u85_register_cs_generator.cpp, GenerateAccFormat",
    ),
    Erratum(
        "bias-32-bits",
        VELA,
        u85.truncates_scale,
        "with int16 inputs and a bias of 32 bits it stores the lower 15 bits of a scale of 31",
        "Regor, architecture/ethosu85/ethos_u85_weight_encoder.cpp, EncodeBias48, which only "
        "asserts 15 bits; tflite/tflite_scaling.cpp, which reduces scales only beside a bias of "
        "int64",
    ),
    Erratum(
        "transpose-conv-gap",
        VELA,
        u85.moves_small_window,
        "with SAME padding and a stride that exceeds the kernel by 2 or more, it moves the output "
        "by half of the gap between two windows",
        "Regor, compiler/tflite_graph_optimiser.cpp, RewriteTransposeConvPadding; TFLite, "
        "kernels/padding.h, ComputePaddingWithOffset",
    ),
    PADDED_POOL,
    Erratum(
        "sum-several-axes",
        VELA,
        when.sums_several_axes,
        "it reads only the first of the axes",
        "Regor, tflite/tflite_reader.cpp, CreateAxisAttribute",
    ),
    Erratum(
        "sum-last-axis",
        VELA,
        when.sums_dropped_last_axis,
        "over the last axis without keep_dims it requests several channels of one sum from the NPU",
        "Regor, compiler/graphir_optimiser.cpp, RewriteReduceSum",
    ),
    Erratum(
        "sum-rounding",
        VELA,
        when.rescales("SUM", dtypes=("int8", "uint8", "int16")),
        "it rounds the sum once, TFLite twice",
        "TFLite, tensorflow/lite/kernels/internal/reference/reduce.h, QuantizedMeanOrSum; "
        "Regor, compiler/graphir_optimiser.cpp, RewriteReduceSum",
    ),
    Erratum(
        "pool-rescales",
        VELA,
        when.rescales("AVERAGE_POOL_2D", "MAX_POOL_2D", dtypes=("int8", "uint8", "int16")),
        "it rescales from the input's scale to the output's, which LiteRT does not, and TensorFlow "
        "Lite Micro refuses the pool",
        "TFLite Micro, tensorflow/lite/micro/kernels/pooling_common.cc, PoolingPrepare; "
        "LiteRT, tflite/kernels/internal/reference/pooling.h",
    ),
    Erratum(
        "copy-rescales",
        VELA,
        rescaling.rescales_copies,
        "it rescales from an input's quantization to the output's, TFLite copies the stored values",
        "TFLite Micro, tensorflow/lite/micro/kernels/concatenation.cc, pack.cc and "
        "strided_slice.cc; Regor, compiler/graphir_optimiser.cpp and tflite_graph_optimiser.cpp, "
        "RewritePack and RewriteStridedSlice, which make copies with both quantizations",
    ),
    Erratum(
        "transpose-uint8",
        VELA,
        when.before_u85(when.transposes_uint8),
        "values from 128 on become 0 when it transposes uint8",
        "Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, "
        "InsertTransposeCommand; Vela's SUPPORTED_OPS.md lists int8, int16 and int32",
    ),
    Erratum(
        "resize-cascade",
        VELA,
        when.before_u85(when.enlarges_one_column),
        "in a cascade, steps of enlarging a single column overwrite rows that are still needed",
        "Regor, compiler/cascade_builder.cpp, CanReuseCascadeRollingBuffer; "
        "compiler/live_range.cpp, IsOp1To1",
    ),
    Erratum(
        "resize-depth",
        VELA,
        when.resizes_to_more_channels,
        "the output has more batches or channels than the input, and it reads past the input's end",
        "Regor, tflite/tflite_supported_operators.cpp, which does not compare them; TFLite Micro "
        "reads past the end too, LiteRT refuses the network",
    ),
    Erratum(
        "resize-nearest",
        VELA,
        when.takes_other_pixels,
        "it takes the pixel whose centre is nearest; TFLite takes the one at the top left, or "
        "divides the sizes in single precision",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertResize; TFLite, tensorflow/lite/"
        "kernels/internal/reference/resize_nearest_neighbor.h, GetNearestNeighbor",
    ),
    Erratum(
        "table-uint8",
        VELA,
        when.before_u85(when.table_after_transposition_of_uint8),
        "after a TRANSPOSE of uint8 it looks the table up with an int8 value, which is off by 128",
        "Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, InsertTransposeCommand",
    ),
    Erratum(
        "lut-beyond-shram",
        VELA,
        when.table_beyond_shram,
        "after a TRANSPOSE it loads the table past the end of this NPU's internal memory",
        "Regor, architecture/ethosu55/ethos_u55.cpp, lutBanks",
    ),
    Erratum(
        "high-rank-operand",
        VELA,
        when.steps_through_operand_of_lower_rank,
        "it steps through an operand of fewer dimensions along the wrong axes",
        "Regor, compiler/scheduler_decompose.cpp, DecomposeLargeAxis",
    ),
    Erratum(
        "pack-seven",
        VELA,
        when.packs_seven_dimensions,
        "it writes only the first slice of the outermost of seven dimensions",
        "Regor, compiler/tflite_graph_optimiser.cpp, RewritePack",
    ),
    Erratum(
        "groups-of-batches",
        VELA,
        when.pads_groups_of_batches,
        "a grouped convolution of several batches gets all its padding at the end",
        "Regor, compiler/scheduler_decompose.cpp, DecomposeConv2D and UpdatePaddingAndIfmOffset",
    ),
    Erratum(
        "padded-part",
        VELA,
        parts.pads_part,
        "a reader of the part loses its padding at the top and left if Vela splits it: layers and "
        "pools of several batches, DEPTHWISE_CONV_2D with a multiplier, TRANSPOSE_CONV",
        "Regor, compiler/graphir_optimiser.cpp, MoveSplitSliceToConsumer; "
        "compiler/scheduler_decompose.cpp, DecomposeConv2D and UpdatePaddingAndIfmOffset",
    ),
    Erratum(
        "stepped-padding",
        VELA,
        parts.steps_through_padding,
        "a reader that steps through the part divides its padding by the step, and skips values",
        "Regor, compiler/graphir_optimiser.cpp, MoveSplitSliceToConsumer; "
        "compiler/high_level_command_stream_generator.cpp, CalculateStripePadding",
    ),
    Erratum(
        "stepped-operand",
        VELA,
        when.before_u85(parts.steps_beside_another),
        "Vela takes the part that a reader steps through to be larger than the other input, and "
        "repeats that",
        "Regor, compiler/graphir_optimiser.cpp, MoveSplitSliceToConsumer; "
        "architecture/ethosu55/ethos_u55_register_cs_generator.cpp, GenerateIFM2Broadcast",
    ),
    Erratum(
        "reduced-part",
        VELA,
        parts.reduces_part,
        "a reduction of the part ignores the part's offset",
        "Regor, compiler/scheduler_decompose.cpp, DecomposeReduce, which only asserts that there "
        "is no part",
    ),
    Erratum(
        "slice-after-state",
        VELA,
        parts.follows_state_only,
        "it takes the first elements instead of the ones from `begin` on, after operators with "
        "state only",
        "Regor, compiler/graph_optimiser.hpp, RewriteGraph: `fromStart` begins at operators whose "
        "inputs are constants or the graph's inputs; compiler/graphir_optimiser.cpp, "
        "ConvertAttributeTensors",
    ),
    Erratum(
        "select-rows",
        VELA,
        u85.selects_rows,
        "it takes the condition of whole rows for one of columns, and reads beyond its end",
        "TFLite, tensorflow/lite/kernels/internal/reference/reference_ops.h, RankOneSelect; "
        "Regor, compiler/graphir_optimiser.cpp, RewriteSelect, which serves SELECT_V2 as well",
    ),
    Erratum(
        "scale-range",
        VELA,
        loses_scale,
        "a scale from 2**31 to 2**32 becomes negative in its 32 bits, and one below 2**-40 loses "
        "digits",
        "Regor, common/scaling.cpp, QuantizedScale; tflite/tflite_reader.cpp, ParseTensor",
    ),
    Erratum(
        "multiplied-part",
        VELA,
        when.before_u85(parts.multiplies_part),
        "a product of two matrices reads the rows of the part's source from its first column on, "
        "and writes beyond its scratch memory",
        "Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, InsertMatMulCommand, "
        "which only asserts that rows and columns are whole; "
        "compiler/graphir_optimiser.cpp, MoveSplitSliceToConsumer",
    ),
    Erratum(
        "product-into-part",
        VELA,
        when.before_u85(parts.multiplies_into_part),
        "a product of two matrices that Vela writes directly into part of its output is in the "
        "wrong place",
        "Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, InsertMatMulCommand; "
        "compiler/graphir_optimiser.cpp, MoveConcatSliceToProducer",
    ),
    Erratum(
        "flattened-product",
        VELA,
        when.multiplies_flattened_input,
        "a FULLY_CONNECTED whose weights are not constant does not flatten its input",
        "Regor, compiler/tflite_graph_optimiser.cpp, RewriteFullyConnectDynamic",
    ),
    Erratum(
        "mul-int32",
        VELA,
        when.has("MUL", dtypes=("int32",)),
        "the NPU shifts a 32-bit product right by 30 bits",
        'Regor, architecture/ethosu55/ethos_u55_constraints.cpp: "supports shift-only if input '
        'or output is 32-bit"',
    ),
    Erratum(
        "int32-saturates",
        VELA,
        when.has("ADD", "SUB", "SUM", dtypes=("int32",)),
        "32-bit results wrap around in TFLite; U55 and U65 saturate them, and no source says what "
        "U85 does",
        "TFLite, tensorflow/lite/kernels/internal/reference/add.h, sub.h and reduce.h",
    ),
    Erratum(
        "neg-lowest",
        VELA,
        when.has("NEG", dtypes=("int8", "int16", "int32")),
        "the negative of the lowest value saturates on the NPU; in TFLite it is the lowest again",
        "TFLite, tensorflow/lite/kernels/internal/reference/neg.h",
    ),
    Erratum(
        "lstm-cell-clip",
        VELA,
        when.clips_cells_at_a_fraction,
        "it stores the cell clip as an integer",
        "Regor, compiler/attributes.hpp and lstm.hpp",
    ),
    Erratum(
        "lstm-one-step",
        VELA,
        when.steps_once_with_batches,
        "the outputs of its only step are wrong where there are several batches",
        "Regor, compiler/lstm.cpp, SetOutputWrite",
    ),
    Erratum(
        "reshape-int32",
        VELA,
        when.rescales("RESHAPE", "SQUEEZE", "EXPAND_DIMS", dtypes=("int32",)),
        "it rescales integers where only one end has a scale, TFLite copies them",
        "TFLite, tflite/kernels/reshape.cc; Regor turns it into a copy that rescales",
    ),
    Erratum(
        "transpose-into-part",
        VELA,
        when.transposes_into_part,
        "data that a TRANSPOSE writes directly into part of its output is in the wrong places",
        "Regor, compiler/tflite_graph_optimiser.cpp (fusion of slices)",
    ),
    Erratum(
        "relu6-scale",
        "TFLite Micro",
        when.rescales("RELU6", dtypes=_QUANTIZED),
        "TensorFlow Lite Micro clamps without rescaling to the output's scale",
        "TFLite Micro, tensorflow/lite/micro/kernels/activations_common.cc, Relu6Prepare",
        (TFLM,),
    ),
    Erratum(
        "rsqrt-int16",
        "TFLite Micro",
        when.has("RSQRT", dtypes=("int16",)),
        "Vela interpolates in a table that is too coarse for small values",
        "TFLite Micro, tensorflow/lite/micro/kernels/elementwise.cc; "
        "Regor, compiler/tflite_graph_optimiser.cpp, kRSqrtLut",
        (TFLM,),
    ),
    Erratum(
        "softmax-int16",
        "TFLite Micro",
        when.has("SOFTMAX", dtypes=("int16",)),
        "TensorFlow Lite Micro fills its tables in single precision, Vela in double",
        "TFLite Micro, tensorflow/lite/micro/kernels/softmax_common.cc; "
        "LiteRT, tflite/kernels/activations.cc, SoftmaxPrepare",
        (TFLM,),
    ),
    Erratum(
        "logistic-fixed-point",
        "TFLite Micro",
        curves.curves_otherwise,
        "with these scales its fixed-point table differs from Vela's floating-point one",
        "TFLite Micro, tensorflow/lite/kernels/internal/reference/integer_ops/logistic.h and "
        "tanh.h; Regor, compiler/tflite_graph_optimiser.cpp, ConvertTanhSigmoidToLUT",
        (TFLM,),
    ),
    Erratum(
        "rescale-into-producer",
        VELA,
        rescaling.rescales_into_producer,
        "the operator before writes this one's output at once, and no longer saturates in between, "
        "or to the wrong bounds",
        "Regor, compiler/graphir_optimiser.cpp, CanFuseRescaleOnProducer and QuantAfterOFMFusing",
    ),
    Erratum(
        "computed-constant",
        VELA,
        rescaling.computes_constant_otherwise,
        "Vela computes it, because its inputs are constant: it omits a zero point that input and "
        "output share, and wraps around where a value minus its zero point exceeds the output's "
        "type",
        "Regor, compiler/graphir_optimiser.cpp, ConstPropagation, ConstPropUnEw and Scale",
    ),
    Erratum(
        "gelu-precision",
        "LiteRT",
        curves.gates_otherwise,
        "with these scales its table, computed in single precision, differs from Vela's, computed "
        "in double",
        "LiteRT, tflite/kernels/internal/reference/gelu.h; Regor, "
        "compiler/tflite_graph_optimiser.cpp, ConvertGeluToLUT",
        (LITERT,),
    ),
    Erratum(
        "elu-table",
        "TFLite Micro",
        curves.rises_otherwise,
        "with these scales its table, which it computes in single precision and rounds before it "
        "adds the zero point, differs from Vela's",
        "TFLite Micro, tensorflow/lite/micro/kernels/elu.cc, PopulateLookupTable; Regor, "
        "compiler/tflite_graph_optimiser.cpp, ConvertEluToLUT and ConvertToLUT8",
        (TFLM,),
    ),
    Erratum(
        "exp-table",
        "LiteRT",
        curves.grows_otherwise,
        "with these scales its table, which it rounds before it adds the zero point and saturates, "
        "differs from Vela's, which wraps around beyond 32 bits",
        "LiteRT, tflite/kernels/internal/common.h, LUTPopulateInt8; Regor, "
        "compiler/tflite_graph_optimiser.cpp, ConvertExpToLUT, ConvertLogToLUT and ConvertToLUT8",
        (LITERT,),
    ),
    Erratum(
        "curve-overflow",
        "TFLite Micro",
        curves.overflows_curve,
        "with an input scale above 5.33 its argument overflows 32 bits in TFLite, and saturates on "
        "the NPU",
        "TFLite, tensorflow/lite/kernels/internal/reference/integer_ops/tanh.h and logistic.h, "
        "which multiply the input by input_multiplier in int32",
    ),
    Erratum(
        "square-overflow",
        "TFLite Micro",
        when.squares_beyond_32_bits,
        "large squares overflow there but saturate on the NPU",
        "TFLite Micro, tensorflow/lite/micro/kernels/squared_difference.cc",
        (TFLM,),
    ),
    Erratum(
        "sum-wraps",
        "TFLite Micro",
        when.either(when.rescales_beyond_32_bits, rescaling.multiplies_beyond_32_bits),
        "a 64-bit sum that exceeds 32 bits in steps of the output wraps around there but "
        "saturates on the NPU",
        "TFLite, tensorflow/lite/kernels/internal/common.cc, MultiplyByQuantizedMultiplier(int64_t)"
        '; it assumes "that final scaled result fits in int32_t"',
    ),
    Erratum(
        "shift-wraps",
        "TFLite Micro",
        rescaling.shifts_beyond_32_bits,
        "with a factor of 1 or more it shifts values left in 32 bits, where large ones wrap "
        "around; on the NPU they saturate",
        "TFLite, tensorflow/lite/kernels/internal/common.cc, "
        "MultiplyByQuantizedMultiplier(int32_t)",
    ),
    Erratum(
        "pool-wraps",
        "TFLite Micro",
        rescaling.sums_lowest_beyond_32_bits,
        "it adds a window of 65,536 values or more in 32 bits, where the sum of the lowest wraps "
        "around",
        "TFLite, tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h, AveragePool",
    ),
    Erratum(
        "factor-float",
        "TFLite Micro",
        when.rounds_by_single_factor,
        "TensorFlow Lite Micro divides scales in double precision, Vela in single, which changes "
        "some results",
        "TFLite Micro, tensorflow/lite/micro/kernels/mul_common.cc; "
        "Regor, common/scaling.hpp, ElementwiseMulScale",
        (TFLM,),
    ),
    Erratum(
        "fully-connected-single",
        VELA,
        products.connects_in_single,
        "it multiplies scales in single precision, TFLite in double, which changes some results",
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit, and "
        "tflite/tflite_scaling.cpp, RescalePerChannelToExplicit; TFLite Micro, "
        "tensorflow/lite/micro/kernels/fully_connected_common.cc",
    ),
    Erratum(
        "batch-matmul-single",
        "TFLite Micro",
        products.multiplies_in_single,
        "TensorFlow Lite Micro multiplies scales in double precision, Vela and LiteRT in single, "
        "which changes some results",
        "TFLite Micro, tensorflow/lite/micro/kernels/batch_matmul.cc; "
        "Regor, compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit",
        (TFLM,),
    ),
    Erratum(
        "log-last-segment",
        VELA,
        when.has("LOG", dtypes=("int16",)),
        "the slope of the table's last segment is one too small if its base is negative",
        "Regor, compiler/lut_util.hpp",
        (LITERT,),
    ),
    Erratum(
        "fully-connected-rounding",
        "LiteRT",
        when.has("FULLY_CONNECTED", dtypes=("uint8",)),
        "LiteRT rounds each sum once, the NPU twice",
        "LiteRT, tflite/kernels/internal/reference/fully_connected.h",
        (LITERT,),
    ),
)

STREAM_ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "chained-tables",
        VELA,
        u85.concerns_no_operator,
        "two operations of a chain have different tables in the same place, and it loads both "
        "before the first operation, so that this one uses the other's table",
        "Regor, architecture/ethosu85/ethos_u85_register_cs_generator.cpp, InsertLUTDMACommands "
        "and AllocateLutSlot; the memory for tables has 2 KiB, as a table of 16-bit values has",
    ),
)
"""Errata that streams show (chains.py); apart.py compiles otherwise, with nothing on the CPU."""
