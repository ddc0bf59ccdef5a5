"""The dialect of our graphs: TFLite's operators and their options, declared once.

Readers, writers, operators and checks share this table. Numbers, slots and defaults are those of
TFLite's published schema (version 3); a test compares each with the schema's own classes.
One table is easier to compare with that schema than parts, so the file is longer than others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ethosgen.values.network import HANDLE

CUSTOM = "CUSTOM"
"""The code of operators that TFLite knows only by their custom code."""

DETECTION = "TFLite_Detection_PostProcess"
SIGNALS = """SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank SignalFilterBankLog
    SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot SignalFramer SignalIrfft
    SignalOverlapAdd SignalPCAN SignalRfft SignalStacker SignalWindow""".split()
WITH_MAP = frozenset({DETECTION, "CIRCULAR_BUFFER", *SIGNALS})
"""Custom operators of TFLite Micro whose options are a map in flexbuffers' format."""

TEXT = "text"
"""The kind of an option that is a string, or None where the file has none."""


@dataclass(frozen=True)
class Enumeration:
    """Names by number, and the schema's type of the number."""

    wire: str
    names: tuple[str, ...]


ENUMERATIONS: Mapping[str, Enumeration] = {
    "Padding": Enumeration("int8", ("SAME", "VALID")),
    "Activation": Enumeration(
        "int8", ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
    ),
    "MirrorPad": Enumeration("int8", ("REFLECT", "SYMMETRIC")),
    "WeightsFormat": Enumeration("int8", ("DEFAULT", "SHUFFLED4x16INT8")),
    "LstmKernel": Enumeration("int8", ("FULL", "BASIC")),
    "Projection": Enumeration("int8", ("UNKNOWN", "SPARSE", "DENSE")),
    "Combiner": Enumeration("int8", ("SUM", "MEAN", "SQRTN")),
    "CustomFormat": Enumeration("int8", ("FLEXBUFFERS",)),
    "RngAlgorithm": Enumeration("int8", ("DEFAULT", "PHILOX", "THREEFRY")),
    "ReduceFunction": Enumeration(
        "int32", ("UNSUPPORTED", "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY")
    ),
    "Comparison": Enumeration("uint32", ("EQ", "NE", "GE", "GT", "LE", "LT")),
    "ComparisonType": Enumeration(
        "uint32", ("NOTYPE", "FLOAT", "FLOAT_TOTAL_ORDER", "SIGNED", "UNSIGNED")
    ),
    "TensorType": Enumeration(
        "int8",
        (
            *("float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16"),
            *("complex64", "int8", "float64", "complex128", "uint64", HANDLE, "variant"),
            *("uint32", "uint16", "int4", "bfloat16"),
        ),
    ),
}
"""Options whose numbers have names; tensor types have numpy's names."""

_OPTIONS = """
1.1 Conv2DOptions padding:Padding stride_w:int32 stride_h:int32
    fused_activation_function:Activation dilation_w_factor:int32=1 dilation_h_factor:int32=1
    quantized_bias_type:TensorType
1.2 DepthwiseConv2DOptions padding:Padding stride_w:int32 stride_h:int32 depth_multiplier:int32
    fused_activation_function:Activation dilation_w_factor:int32=1 dilation_h_factor:int32=1
1.3 ConcatEmbeddingsOptions num_channels:int32 num_columns_per_channel:[int32]
    embedding_dim_per_channel:[int32]
1.4 LSHProjectionOptions type:Projection
1.5 Pool2DOptions padding:Padding stride_w:int32 stride_h:int32 filter_width:int32
    filter_height:int32 fused_activation_function:Activation
1.6 SVDFOptions rank:int32 fused_activation_function:Activation asymmetric_quantize_inputs:bool
1.7 RNNOptions fused_activation_function:Activation asymmetric_quantize_inputs:bool
1.8 FullyConnectedOptions fused_activation_function:Activation weights_format:WeightsFormat
    keep_num_dims:bool asymmetric_quantize_inputs:bool quantized_bias_type:TensorType
1.9 SoftmaxOptions beta:float32
1.10 ConcatenationOptions axis:int32 fused_activation_function:Activation
1.11 AddOptions fused_activation_function:Activation pot_scale_int16:bool=true
1.12 L2NormOptions fused_activation_function:Activation
1.13 LocalResponseNormalizationOptions radius:int32 bias:float32 alpha:float32 beta:float32
1.14 LSTMOptions fused_activation_function:Activation cell_clip:float32 proj_clip:float32
    kernel_type:LstmKernel asymmetric_quantize_inputs:bool
1.15 ResizeBilinearOptions align_corners:bool@2 half_pixel_centers:bool
1.16 CallOptions subgraph:uint32
1.17 ReshapeOptions new_shape:[int32]
1.18 SkipGramOptions ngram_size:int32 max_skip_size:int32 include_all_ngrams:bool
1.19 SpaceToDepthOptions block_size:int32
1.20 EmbeddingLookupSparseOptions combiner:Combiner
1.21 MulOptions fused_activation_function:Activation
1.22 PadOptions
1.23 GatherOptions axis:int32 batch_dims:int32
1.24 BatchToSpaceNDOptions
1.25 SpaceToBatchNDOptions
1.26 TransposeOptions
1.27 ReducerOptions keep_dims:bool
1.28 SubOptions fused_activation_function:Activation pot_scale_int16:bool=true
1.29 DivOptions fused_activation_function:Activation
1.30 SqueezeOptions squeeze_dims:[int32]
1.31 SequenceRNNOptions time_major:bool fused_activation_function:Activation
    asymmetric_quantize_inputs:bool
1.32 StridedSliceOptions begin_mask:int32 end_mask:int32 ellipsis_mask:int32 new_axis_mask:int32
    shrink_axis_mask:int32 offset:bool
1.33 ExpOptions
1.34 TopKV2Options
1.35 SplitOptions num_splits:int32
1.36 LogSoftmaxOptions
1.37 CastOptions in_data_type:TensorType out_data_type:TensorType
1.38 DequantizeOptions
1.39 MaximumMinimumOptions
1.40 ArgMaxOptions output_type:TensorType
1.41 LessOptions
1.42 NegOptions
1.43 PadV2Options
1.44 GreaterOptions
1.45 GreaterEqualOptions
1.46 LessEqualOptions
1.47 SelectOptions
1.48 SliceOptions
1.49 TransposeConvOptions padding:Padding stride_w:int32 stride_h:int32
    fused_activation_function:Activation quantized_bias_type:TensorType
1.50 SparseToDenseOptions validate_indices:bool
1.51 TileOptions
1.52 ExpandDimsOptions
1.53 EqualOptions
1.54 NotEqualOptions
1.55 ShapeOptions out_type:TensorType
1.56 PowOptions
1.57 ArgMinOptions output_type:TensorType
1.58 FakeQuantOptions min:float32 max:float32 num_bits:int32 narrow_range:bool
1.59 PackOptions values_count:int32 axis:int32
1.60 LogicalOrOptions
1.61 OneHotOptions axis:int32
1.62 LogicalAndOptions
1.63 LogicalNotOptions
1.64 UnpackOptions num:int32 axis:int32
1.65 FloorDivOptions
1.66 SquareOptions
1.67 ZerosLikeOptions
1.68 FillOptions
1.69 BidirectionalSequenceLSTMOptions fused_activation_function:Activation cell_clip:float32
    proj_clip:float32 merge_outputs:bool time_major:bool=true asymmetric_quantize_inputs:bool
1.70 BidirectionalSequenceRNNOptions time_major:bool fused_activation_function:Activation
    merge_outputs:bool asymmetric_quantize_inputs:bool
1.71 UnidirectionalSequenceLSTMOptions fused_activation_function:Activation cell_clip:float32
    proj_clip:float32 time_major:bool asymmetric_quantize_inputs:bool
    diagonal_recurrent_tensors:bool
1.72 FloorModOptions
1.73 RangeOptions
1.74 ResizeNearestNeighborOptions align_corners:bool half_pixel_centers:bool
1.75 LeakyReluOptions alpha:float32
1.76 SquaredDifferenceOptions
1.77 MirrorPadOptions mode:MirrorPad
1.78 AbsOptions
1.79 SplitVOptions num_splits:int32
1.80 UniqueOptions idx_out_type:TensorType=int32
1.81 ReverseV2Options
1.82 AddNOptions
1.83 GatherNdOptions
1.84 CosOptions
1.85 WhereOptions
1.86 RankOptions
1.87 ReverseSequenceOptions seq_dim:int32 batch_dim:int32
1.88 MatrixDiagOptions
1.89 QuantizeOptions
1.90 MatrixSetDiagOptions
1.91 HardSwishOptions
1.92 IfOptions then_subgraph_index:int32 else_subgraph_index:int32
1.93 WhileOptions cond_subgraph_index:int32 body_subgraph_index:int32
1.94 DepthToSpaceOptions block_size:int32
1.95 NonMaxSuppressionV4Options
1.96 NonMaxSuppressionV5Options
1.97 ScatterNdOptions
1.98 SelectV2Options
1.99 DensifyOptions
1.100 SegmentSumOptions
1.101 BatchMatMulOptions adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool
1.102 CumsumOptions exclusive:bool reverse:bool
1.103 CallOnceOptions init_subgraph_index:int32
1.104 BroadcastToOptions
1.105 Rfft2dOptions
1.106 Conv3DOptions padding:Padding stride_d:int32 stride_w:int32 stride_h:int32
    fused_activation_function:Activation dilation_d_factor:int32=1 dilation_w_factor:int32=1
    dilation_h_factor:int32=1
1.107 HashtableOptions table_id:int32 key_dtype:TensorType value_dtype:TensorType
1.108 HashtableFindOptions
1.109 HashtableImportOptions
1.110 HashtableSizeOptions
1.111 VarHandleOptions container:text shared_name:text
1.112 ReadVariableOptions
1.113 AssignVariableOptions
1.114 RandomOptions seed:int64 seed2:int64
1.115 BucketizeOptions boundaries:[float32]
1.116 GeluOptions approximate:bool
1.117 DynamicUpdateSliceOptions
1.118 UnsortedSegmentProdOptions
1.119 UnsortedSegmentMaxOptions
1.120 UnsortedSegmentMinOptions
1.121 UnsortedSegmentSumOptions
1.122 ATan2Options
1.123 SignOptions
1.124 BitcastOptions
1.125 BitwiseXorOptions
1.126 RightShiftOptions
2.1 StablehloConcatenateOptions dimension:int64
2.2 StablehloBroadcastInDimOptions broadcast_dimensions:[int64]
2.3 StablehloSliceOptions start_indices:[int64] limit_indices:[int64] strides:[int64]
2.4 StablehloConvolutionOptions window_strides:[int64] padding:[int64] lhs_dilation:[int64]
    rhs_dilation:[int64] window_reversal:[bool] input_batch_dimension:int64
    input_feature_dimension:int64 input_spatial_dimensions:[int64]
    kernel_input_feature_dimension:int64 kernel_output_feature_dimension:int64
    kernel_spatial_dimensions:[int64] output_batch_dimension:int64 output_feature_dimension:int64
    output_spatial_dimensions:[int64] feature_group_count:int64 batch_group_count:int64
    precision_config:[uint32]
2.5 StablehloCustomCallOptions call_target_name:text has_side_effect:bool backend_config:text
    api_version:int32 called_computations:[int32] custom_attributes:[uint8]
2.6 StablehloReduceOptions dimensions:[int64] body_subgraph_index:int32
2.7 StablehloScatterOptions indices_are_sorted:bool update_window_dims:[int64]
    inserted_window_dims:[int64] scatter_dims_to_operand_dims:[int64] index_vector_dim:int64
    unique_indices:bool update_computation_subgraph_index:int32
2.8 StablehloCompareOptions comparison_direction:Comparison compare_type:ComparisonType
2.9 StablehloDynamicSliceOptions slice_sizes:[int64]
2.10 StablehloPadOptions edge_padding_low:[int64] edge_padding_high:[int64]
    interior_padding:[int64]
2.11 StablehloIotaOptions iota_dimension:int64
2.12 StablehloDotGeneralOptions lhs_batching_dimensions:[int64] rhs_batching_dimensions:[int64]
    lhs_contracting_dimensions:[int64] rhs_contracting_dimensions:[int64] precision_config:[uint32]
2.13 StablehloReduceWindowOptions window_dimensions:[int64] window_strides:[int64]
    base_dilations:[int64] window_dilations:[int64] padding:[int64] body_subgraph_index:int32
2.14 StablehloSortOptions dimension:int64 is_stable:bool comparator_subgraph_index:int32
2.15 StablehloWhileOptions cond_subgraph_index:int32 body_subgraph_index:int32
2.16 StablehloGatherOptions offset_dims:[int64] collapsed_slice_dims:[int64]
    start_index_map:[int64] index_vector_dim:int64 slice_sizes:[int64] indices_are_sorted:bool
2.17 StablehloTransposeOptions permutation:[int64]
2.18 DilateOptions
2.19 StablehloRngBitGeneratorOptions algorithm:RngAlgorithm
2.20 ReduceWindowOptions reduce_function:ReduceFunction
2.21 StableHLOCompositeOptions name:text decomposition_subgraph_index:int32
    composite_attributes:[uint8] composite_attributes_format:CustomFormat version:int32
2.22 StablehloShiftLeftOptions
"""
"""The tables of options: "union.number name", then "name:kind@slot=default" for each option.

The union is BuiltinOptions or BuiltinOptions2 of the schema. Slots count from 0 unless one is
given; a default of 0 is not written down. [int32] is a vector, and empty by default.
"""

_OPERATORS = """
0 ADD AddOptions
1 AVERAGE_POOL_2D Pool2DOptions
2 CONCATENATION ConcatenationOptions
3 CONV_2D Conv2DOptions
4 DEPTHWISE_CONV_2D DepthwiseConv2DOptions
5 DEPTH_TO_SPACE DepthToSpaceOptions
6 DEQUANTIZE DequantizeOptions
7 EMBEDDING_LOOKUP
8 FLOOR
9 FULLY_CONNECTED FullyConnectedOptions
10 HASHTABLE_LOOKUP
11 L2_NORMALIZATION L2NormOptions
12 L2_POOL_2D Pool2DOptions
13 LOCAL_RESPONSE_NORMALIZATION LocalResponseNormalizationOptions
14 LOGISTIC
15 LSH_PROJECTION LSHProjectionOptions
16 LSTM LSTMOptions
17 MAX_POOL_2D Pool2DOptions
18 MUL MulOptions
19 RELU
20 RELU_N1_TO_1
21 RELU6
22 RESHAPE ReshapeOptions
23 RESIZE_BILINEAR ResizeBilinearOptions
24 RNN RNNOptions
25 SOFTMAX SoftmaxOptions
26 SPACE_TO_DEPTH SpaceToDepthOptions
27 SVDF SVDFOptions
28 TANH
29 CONCAT_EMBEDDINGS ConcatEmbeddingsOptions
30 SKIP_GRAM SkipGramOptions
31 CALL CallOptions
32 CUSTOM
33 EMBEDDING_LOOKUP_SPARSE EmbeddingLookupSparseOptions
34 PAD PadOptions
35 UNIDIRECTIONAL_SEQUENCE_RNN SequenceRNNOptions
36 GATHER GatherOptions
37 BATCH_TO_SPACE_ND BatchToSpaceNDOptions
38 SPACE_TO_BATCH_ND SpaceToBatchNDOptions
39 TRANSPOSE TransposeOptions
40 MEAN ReducerOptions
41 SUB SubOptions
42 DIV DivOptions
43 SQUEEZE SqueezeOptions
44 UNIDIRECTIONAL_SEQUENCE_LSTM UnidirectionalSequenceLSTMOptions
45 STRIDED_SLICE StridedSliceOptions
46 BIDIRECTIONAL_SEQUENCE_RNN BidirectionalSequenceRNNOptions
47 EXP ExpOptions
48 TOPK_V2 TopKV2Options
49 SPLIT SplitOptions
50 LOG_SOFTMAX LogSoftmaxOptions
51 DELEGATE
52 BIDIRECTIONAL_SEQUENCE_LSTM BidirectionalSequenceLSTMOptions
53 CAST CastOptions
54 PRELU
55 MAXIMUM MaximumMinimumOptions
56 ARG_MAX ArgMaxOptions
57 MINIMUM MaximumMinimumOptions
58 LESS LessOptions
59 NEG NegOptions
60 PADV2 PadV2Options
61 GREATER GreaterOptions
62 GREATER_EQUAL GreaterEqualOptions
63 LESS_EQUAL LessEqualOptions
64 SELECT SelectOptions
65 SLICE SliceOptions
66 SIN
67 TRANSPOSE_CONV TransposeConvOptions
68 SPARSE_TO_DENSE SparseToDenseOptions
69 TILE TileOptions
70 EXPAND_DIMS ExpandDimsOptions
71 EQUAL EqualOptions
72 NOT_EQUAL NotEqualOptions
73 LOG
74 SUM ReducerOptions
75 SQRT
76 RSQRT
77 SHAPE ShapeOptions
78 POW PowOptions
79 ARG_MIN ArgMinOptions
80 FAKE_QUANT FakeQuantOptions
81 REDUCE_PROD ReducerOptions
82 REDUCE_MAX ReducerOptions
83 PACK PackOptions
84 LOGICAL_OR LogicalOrOptions
85 ONE_HOT OneHotOptions
86 LOGICAL_AND LogicalAndOptions
87 LOGICAL_NOT LogicalNotOptions
88 UNPACK UnpackOptions
89 REDUCE_MIN ReducerOptions
90 FLOOR_DIV FloorDivOptions
91 REDUCE_ANY ReducerOptions
92 SQUARE SquareOptions
93 ZEROS_LIKE ZerosLikeOptions
94 FILL FillOptions
95 FLOOR_MOD FloorModOptions
96 RANGE RangeOptions
97 RESIZE_NEAREST_NEIGHBOR ResizeNearestNeighborOptions
98 LEAKY_RELU LeakyReluOptions
99 SQUARED_DIFFERENCE SquaredDifferenceOptions
100 MIRROR_PAD MirrorPadOptions
101 ABS AbsOptions
102 SPLIT_V SplitVOptions
103 UNIQUE UniqueOptions
104 CEIL
105 REVERSE_V2 ReverseV2Options
106 ADD_N AddNOptions
107 GATHER_ND GatherNdOptions
108 COS CosOptions
109 WHERE WhereOptions
110 RANK RankOptions
111 ELU
112 REVERSE_SEQUENCE ReverseSequenceOptions
113 MATRIX_DIAG MatrixDiagOptions
114 QUANTIZE QuantizeOptions
115 MATRIX_SET_DIAG MatrixSetDiagOptions
116 ROUND
117 HARD_SWISH HardSwishOptions
118 IF IfOptions
119 WHILE WhileOptions
120 NON_MAX_SUPPRESSION_V4 NonMaxSuppressionV4Options
121 NON_MAX_SUPPRESSION_V5 NonMaxSuppressionV5Options
122 SCATTER_ND ScatterNdOptions
123 SELECT_V2 SelectV2Options
124 DENSIFY DensifyOptions
125 SEGMENT_SUM SegmentSumOptions
126 BATCH_MATMUL BatchMatMulOptions
128 CUMSUM CumsumOptions
129 CALL_ONCE CallOnceOptions
130 BROADCAST_TO BroadcastToOptions
131 RFFT2D Rfft2dOptions
132 CONV_3D Conv3DOptions
133 IMAG
134 REAL
135 COMPLEX_ABS
136 HASHTABLE HashtableOptions
137 HASHTABLE_FIND HashtableFindOptions
138 HASHTABLE_IMPORT HashtableImportOptions
139 HASHTABLE_SIZE HashtableSizeOptions
140 REDUCE_ALL ReducerOptions
141 CONV_3D_TRANSPOSE Conv3DOptions
142 VAR_HANDLE VarHandleOptions
143 READ_VARIABLE ReadVariableOptions
144 ASSIGN_VARIABLE AssignVariableOptions
145 BROADCAST_ARGS
146 RANDOM_STANDARD_NORMAL RandomOptions
147 BUCKETIZE BucketizeOptions
148 RANDOM_UNIFORM RandomOptions
149 MULTINOMIAL RandomOptions
150 GELU GeluOptions
151 DYNAMIC_UPDATE_SLICE DynamicUpdateSliceOptions
152 RELU_0_TO_1
153 UNSORTED_SEGMENT_PROD UnsortedSegmentProdOptions
154 UNSORTED_SEGMENT_MAX UnsortedSegmentMaxOptions
155 UNSORTED_SEGMENT_SUM UnsortedSegmentSumOptions
156 ATAN2 ATan2Options
157 UNSORTED_SEGMENT_MIN UnsortedSegmentMinOptions
158 SIGN SignOptions
159 BITCAST BitcastOptions
160 BITWISE_XOR BitwiseXorOptions
161 RIGHT_SHIFT RightShiftOptions
162 STABLEHLO_LOGISTIC
163 STABLEHLO_ADD
164 STABLEHLO_DIVIDE
165 STABLEHLO_MULTIPLY
166 STABLEHLO_MAXIMUM
167 STABLEHLO_RESHAPE
168 STABLEHLO_CLAMP
169 STABLEHLO_CONCATENATE StablehloConcatenateOptions
170 STABLEHLO_BROADCAST_IN_DIM StablehloBroadcastInDimOptions
171 STABLEHLO_CONVOLUTION StablehloConvolutionOptions
172 STABLEHLO_SLICE StablehloSliceOptions
173 STABLEHLO_CUSTOM_CALL StablehloCustomCallOptions
174 STABLEHLO_REDUCE StablehloReduceOptions
175 STABLEHLO_ABS
176 STABLEHLO_AND
177 STABLEHLO_COSINE
178 STABLEHLO_EXPONENTIAL
179 STABLEHLO_FLOOR
180 STABLEHLO_LOG
181 STABLEHLO_MINIMUM
182 STABLEHLO_NEGATE
183 STABLEHLO_OR
184 STABLEHLO_POWER
185 STABLEHLO_REMAINDER
186 STABLEHLO_RSQRT
187 STABLEHLO_SELECT
188 STABLEHLO_SUBTRACT
189 STABLEHLO_TANH
190 STABLEHLO_SCATTER StablehloScatterOptions
191 STABLEHLO_COMPARE StablehloCompareOptions
192 STABLEHLO_CONVERT
193 STABLEHLO_DYNAMIC_SLICE StablehloDynamicSliceOptions
194 STABLEHLO_DYNAMIC_UPDATE_SLICE
195 STABLEHLO_PAD StablehloPadOptions
196 STABLEHLO_IOTA StablehloIotaOptions
197 STABLEHLO_DOT_GENERAL StablehloDotGeneralOptions
198 STABLEHLO_REDUCE_WINDOW StablehloReduceWindowOptions
199 STABLEHLO_SORT StablehloSortOptions
200 STABLEHLO_WHILE StablehloWhileOptions
201 STABLEHLO_GATHER StablehloGatherOptions
202 STABLEHLO_TRANSPOSE StablehloTransposeOptions
203 DILATE DilateOptions
204 STABLEHLO_RNG_BIT_GENERATOR StablehloRngBitGeneratorOptions
205 REDUCE_WINDOW ReduceWindowOptions
206 STABLEHLO_COMPOSITE StableHLOCompositeOptions
207 STABLEHLO_SHIFT_LEFT StablehloShiftLeftOptions
208 STABLEHLO_CBRT
"""
"""Number and code of each operator, and the table of its options if it has one."""


@dataclass(frozen=True)
class Option:
    """One option of an operator: `kind` is a type of numpy, TEXT, or a name in ENUMERATIONS."""

    name: str
    kind: str
    default: Any
    slot: int
    is_vector: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of an enumeration's numbers; none if the option is not an enumeration."""
        known = ENUMERATIONS.get(self.kind)
        return known.names if known else ()

    @property
    def wire(self) -> str:
        """The type in the file."""
        known = ENUMERATIONS.get(self.kind)
        return known.wire if known else self.kind


@dataclass(frozen=True)
class OptionsTable:
    """A table of options: its union in the schema, and its number there."""

    name: str
    union: int
    number: int
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Op:
    """One operator of the dialect."""

    code: str
    number: int
    table: OptionsTable | None

    @property
    def options(self) -> tuple[Option, ...]:
        """Its possible options."""
        return self.table.options if self.table else ()

    def defaults(self) -> dict[str, Any]:
        """Return the default of each option, used if a file omits it."""
        return {option.name: option.default for option in self.options}


def _tables() -> Iterator[OptionsTable]:
    for line in _OPTIONS.strip().replace("\n    ", " ").split("\n"):
        place, name, *fields = line.split()
        union, number = place.split(".")
        yield OptionsTable(name, int(union), int(number), tuple(_options(fields)))


def _options(fields: list[str]) -> Iterator[Option]:
    slot = 0
    for field in fields:
        name, _, rest = field.partition(":")
        rest, _, default = rest.partition("=")
        kind, _, place = rest.partition("@")
        slot = int(place or slot)
        is_vector = kind.startswith("[")
        kind = kind.strip("[]")
        yield Option(name, kind, () if is_vector else _default(kind, default), slot, is_vector)
        slot += 1


def _default(kind: str, text: str) -> Any:
    if kind in ENUMERATIONS:
        return text or ENUMERATIONS[kind].names[0]
    if kind == TEXT:
        return None
    if kind == "bool":
        return text == "true"
    return float(text or 0) if kind == "float32" else int(text or 0)


def _operators() -> Iterator[Op]:
    tables = {table.name: table for table in _tables()}
    for line in _OPERATORS.strip().split("\n"):
        number, code, *options = line.split()
        yield Op(code, int(number), tables[options[0]] if options else None)


OPS: Mapping[str, Op] = {op.code: op for op in _operators()}
"""The operators by code."""

CODES: Mapping[int, str] = {op.number: op.code for op in OPS.values()}
"""Their codes by TFLite's number."""
