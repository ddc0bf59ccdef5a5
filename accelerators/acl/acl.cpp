/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See acl.h. */
#include "acl_layer.hpp"

#include <algorithm>
#include <vector>

#include <arm_compute/runtime/NEON/functions/NEArithmeticAddition.h>
#include <arm_compute/runtime/NEON/functions/NEArithmeticSubtraction.h>
#include <arm_compute/runtime/NEON/functions/NEConvolutionLayer.h>
#include <arm_compute/runtime/NEON/functions/NEDepthwiseConvolutionLayer.h>
#include <arm_compute/runtime/NEON/functions/NEElementwiseOperations.h>
#include <arm_compute/runtime/NEON/functions/NEFullyConnectedLayer.h>
#include <arm_compute/runtime/NEON/functions/NEGEMMLowpMatrixMultiplyCore.h>
#include <arm_compute/runtime/NEON/functions/NEPixelWiseMultiplication.h>
#include <arm_compute/runtime/NEON/functions/NEPoolingLayer.h>
#include <arm_compute/runtime/NEON/functions/NEReshapeLayer.h>

namespace
{
template <typename T> void clamp(T *values, size_t count, T least, T most)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = std::min(std::max(values[i], least), most);
    }
}

/* Configures the product of a layer's matrix with its weights, with TensorFlow Lite's own
 * multipliers: the library's convolution computes them in single precision, which rounds otherwise. */
template <typename Numbers>
void make_product(Layer &made, Tensor &matrix, const Numbers &n, unsigned int rows,
                  unsigned int depth, unsigned int columns, const int8_t *weights,
                  const int32_t *bias, const int32_t *multipliers, const int32_t *shifts)
{
    GEMMLowpOutputStageInfo stage;
    stage.type = GEMMLowpOutputStageType::QUANTIZE_DOWN_FIXEDPOINT;
    stage.gemmlowp_offset = n.output_zero_point;
    stage.gemmlowp_multipliers.assign(multipliers, multipliers + columns);
    for (unsigned int i = 0; i < columns; i++) {
        stage.gemmlowp_shifts.push_back(-shifts[i]); /* the library's shift to the right */
    }
    stage.gemmlowp_multiplier = stage.gemmlowp_multipliers[0];
    stage.gemmlowp_shift = stage.gemmlowp_shifts[0];
    stage.gemmlowp_min_bound = n.activation_min;
    stage.gemmlowp_max_bound = n.activation_max;
    stage.is_quantized_per_channel = true;
    stage.output_data_type = DataType::QASYMM8_SIGNED;

    made.weights.describe(TensorShape(columns, depth), DataType::QSYMM8_PER_CHANNEL,
                          QuantizationInfo(std::vector<float>(columns, 1.0f)));
    made.output.describe(TensorShape(columns, rows), DataType::QASYMM8_SIGNED,
                         QuantizationInfo(1.0f, n.output_zero_point));
    if (bias != nullptr) {
        made.bias.describe(TensorShape(columns), DataType::S32);
    }
    const GEMMInfo info(false, false, true, 0, false, false, stage);
    const ITensor *biases = bias != nullptr ? &made.bias.tensor : nullptr;
    require(NEGEMMLowpMatrixMultiplyCore::validate(
        matrix.info(), made.weights.tensor.info(), biases != nullptr ? biases->info() : nullptr,
        made.output.tensor.info(), info));
    std::unique_ptr<NEGEMMLowpMatrixMultiplyCore> product(new NEGEMMLowpMatrixMultiplyCore());
    product->configure(&matrix, &made.weights.tensor, biases, &made.output.tensor, info);
    made.function = std::move(product);
    made.weights.give(weights);
    if (bias != nullptr) {
        made.bias.give(bias);
    }
}

/* The library adds the zero point of the matrix, where TensorFlow Lite subtracts it. */
QuantizationInfo negated(int32_t zero_point)
{
    return QuantizationInfo(1.0f, -zero_point);
}

template <typename T> DataType type_of();
template <> DataType type_of<float>()
{
    return DataType::F32;
}
template <> DataType type_of<int8_t>()
{
    return DataType::QASYMM8_SIGNED;
}

template <typename T>
int32_t pool(PoolingType kind, const T *input, T *output, const float *bounds, const int32_t *layer)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    const size_t count = output_shape(n).total_size();
    int32_t status = with_layer(
        layer, nullptr,
        [&](Layer &made) {
            const QuantizationInfo same(1.0f, n.output_zero_point);
            made.input.describe(input_shape(n), type_of<T>(), same);
            made.output.describe(output_shape(n), type_of<T>(), same);
            const PoolingLayerInfo info(kind, Size2D(whole(n.kernel_w), whole(n.kernel_h)),
                                        DataLayout::NHWC, steps_of(n), true);
            require(NEPoolingLayer::validate(made.input.tensor.info(), made.output.tensor.info(),
                                             info));
            std::unique_ptr<NEPoolingLayer> function(new NEPoolingLayer());
            function->configure(&made.input.tensor, &made.output.tensor, info);
            made.function = std::move(function);
        },
        [&](Layer &made) {
            made.input.give(input);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
    if (status == ACL_OK && n.is_clamped) {
        const T least = bounds ? static_cast<T>(bounds[0]) : static_cast<T>(n.activation_min);
        const T most = bounds ? static_cast<T>(bounds[1]) : static_cast<T>(n.activation_max);
        clamp(output, count, least, most);
    }
    return status;
}

template <typename T>
int32_t reshape(const T *input, T *output, const int32_t *layer)
{
    return with_layer(
        layer, nullptr,
        [&](Layer &made) {
            const TensorShape shape(whole(*layer));
            made.input.describe(shape, type_of<T>(), QuantizationInfo(1.0f, 0));
            made.output.describe(shape, type_of<T>(), QuantizationInfo(1.0f, 0));
            require(NEReshapeLayer::validate(made.input.tensor.info(), made.output.tensor.info()));
            std::unique_ptr<NEReshapeLayer> function(new NEReshapeLayer());
            function->configure(&made.input.tensor, &made.output.tensor);
            made.function = std::move(function);
        },
        [&](Layer &made) {
            made.input.give(input);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
}

template <typename Function, typename... More>
std::unique_ptr<IFunction> elementwise(Layer &made, More... more)
{
    require(Function::validate(made.input.tensor.info(), made.input2.tensor.info(),
                               made.output.tensor.info(), more...));
    std::unique_ptr<Function> function(new Function());
    function->configure(&made.input.tensor, &made.input2.tensor, &made.output.tensor, more...);
    return std::unique_ptr<IFunction>(std::move(function));
}

std::unique_ptr<IFunction> operation_of(Layer &made, int32_t operation)
{
    switch (operation) {
    case ACL_ADD:
        return elementwise<NEArithmeticAddition>(made, ConvertPolicy::SATURATE);
    case ACL_SUB:
        return elementwise<NEArithmeticSubtraction>(made, ConvertPolicy::SATURATE);
    case ACL_MUL:
        return elementwise<NEPixelWiseMultiplication>(made, 1.0f, ConvertPolicy::SATURATE,
                                                      RoundingPolicy::TO_ZERO);
    case ACL_MAXIMUM:
        return elementwise<NEElementwiseMax>(made);
    case ACL_MINIMUM:
        return elementwise<NEElementwiseMin>(made);
    case ACL_DIV:
        return elementwise<NEElementwiseDivision>(made);
    case ACL_SQUARED_DIFFERENCE:
        return elementwise<NEElementwiseSquaredDiff>(made);
    default:
        throw Refused();
    }
}

/* `scales` are those of int8, `bounds` those of float; the other is NULL. */
template <typename T>
int32_t elements(const T *input, const T *input2, T *output, const float *scales,
                 const float *bounds, const int32_t *layer)
{
    const acl_elements &n = numbers_of<acl_elements>(layer);
    const int32_t status = with_layer(
        layer, nullptr,
        [&](Layer &made) {
            const TensorShape shape(whole(n.elements));
            const auto quantization = [&](int which, int32_t zero_point) {
                return QuantizationInfo(scales ? scales[which] : 1.0f, zero_point);
            };
            made.input.describe(shape, type_of<T>(), quantization(0, n.input_zero_point));
            made.input2.describe(shape, type_of<T>(), quantization(1, n.input2_zero_point));
            made.output.describe(shape, type_of<T>(), quantization(2, n.output_zero_point));
            made.function = operation_of(made, n.operation);
        },
        [&](Layer &made) {
            made.input.give(input);
            made.input2.give(input2);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
    if (status == ACL_OK && n.is_clamped) {
        const T least = bounds ? static_cast<T>(bounds[0]) : static_cast<T>(n.activation_min);
        const T most = bounds ? static_cast<T>(bounds[1]) : static_cast<T>(n.activation_max);
        clamp(output, static_cast<size_t>(n.elements), least, most);
    }
    return status;
}

template <typename Function, typename Configure>
int32_t layer_f32(const float *input, const float *weights, const float *bias, float *output,
                  const int32_t *layer, const TensorShape &filter, Configure configure)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    return with_layer(
        layer, weights,
        [&](Layer &made) {
            made.input.describe(input_shape(n), DataType::F32);
            made.weights.describe(filter, DataType::F32);
            made.output.describe(output_shape(n), DataType::F32);
            if (bias != nullptr) {
                made.bias.describe(TensorShape(whole(n.output_channels)), DataType::F32);
            }
            std::unique_ptr<Function> function(new Function());
            configure(made, *function, bias != nullptr ? &made.bias.tensor : nullptr);
            made.function = std::move(function);
            made.weights.give(weights);
            if (bias != nullptr) {
                made.bias.give(bias);
            }
        },
        [&](Layer &made) {
            made.input.give(input);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
}
} // namespace

int32_t acl_conv_s8(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
                    const int32_t *multipliers, const int32_t *shifts, const int32_t *layer)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    return with_layer(
        layer, weights,
        [&](Layer &made) {
            const unsigned int depth = whole(n.kernel_h * n.kernel_w * n.input_channels);
            const unsigned int pixels = whole(n.output_h * n.output_w), batches = whole(n.batches);
            const Size2D kernel(whole(n.kernel_w), whole(n.kernel_h));
            const Size2D dilation(whole(n.dilation_w), whole(n.dilation_h));
            made.input.describe(input_shape(n), DataType::QASYMM8_SIGNED,
                                QuantizationInfo(1.0f, n.input_zero_point));
            TensorInfo rows(TensorShape(depth, pixels, batches), 1, DataType::QASYMM8_SIGNED);
            rows.set_quantization_info(QuantizationInfo(1.0f, n.input_zero_point));
            rows.set_data_layout(DataLayout::NHWC);
            made.columns.allocator()->init(rows);
            require(NEIm2Col::validate(made.input.tensor.info(), made.columns.info(), kernel,
                                       steps_of(n), false, dilation));
            made.windows.configure(&made.input.tensor, &made.columns, kernel, steps_of(n), false,
                                   dilation);
            made.has_windows = true;
            TensorInfo all(TensorShape(depth, pixels * batches), 1, DataType::QASYMM8_SIGNED);
            all.set_quantization_info(negated(n.input_zero_point));
            made.matrix.allocator()->init(all);
            make_product(made, made.matrix, n, pixels * batches, depth, whole(n.output_channels),
                         weights, bias, multipliers, shifts);
            if (made.columns.info()->has_padding() || made.matrix.info()->has_padding()) {
                throw Refused();
            }
            made.columns.allocator()->allocate();
            require(made.matrix.allocator()->import_memory(made.columns.buffer()));
        },
        [&](Layer &made) {
            made.input.give(input);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
}

int32_t acl_matrix_s8(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
                      const int32_t *multipliers, const int32_t *shifts, const int32_t *layer)
{
    const acl_matrix &n = numbers_of<acl_matrix>(layer);
    return with_layer(
        layer, weights,
        [&](Layer &made) {
            const unsigned int rows = whole(n.rows), depth = whole(n.depth);
            made.input.describe(TensorShape(depth, rows), DataType::QASYMM8_SIGNED,
                                negated(n.input_zero_point));
            make_product(made, made.input.tensor, n, rows, depth, whole(n.columns), weights, bias,
                         multipliers, shifts);
        },
        [&](Layer &made) {
            made.input.give(input);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
}

int32_t acl_depthwise_s8(const int8_t *input, const int8_t *weights, const int32_t *bias,
                         int8_t *output, const float *scales, const int32_t *layer)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    return with_layer(
        layer, weights,
        [&](Layer &made) {
            const unsigned int channels = whole(n.output_channels);
            const unsigned int multiplier = whole(n.output_channels / n.input_channels);
            const Size2D dilation(whole(n.dilation_w), whole(n.dilation_h));
            made.input.describe(input_shape(n), DataType::QASYMM8_SIGNED,
                                QuantizationInfo(scales[0], n.input_zero_point));
            made.output.describe(output_shape(n), DataType::QASYMM8_SIGNED,
                                 QuantizationInfo(scales[1], n.output_zero_point));
            made.weights.describe(TensorShape(channels, whole(n.kernel_w), whole(n.kernel_h)),
                                  DataType::QSYMM8_PER_CHANNEL,
                                  QuantizationInfo(std::vector<float>(scales + 2,
                                                                      scales + 2 + channels)));
            if (bias != nullptr) {
                made.bias.describe(TensorShape(channels), DataType::S32);
            }
            const ITensor *biases = bias != nullptr ? &made.bias.tensor : nullptr;
            const ActivationLayerInfo bounds = clamp_of(n, scales[1]);
            require(NEDepthwiseConvolutionLayer::validate(
                made.input.tensor.info(), made.weights.tensor.info(),
                biases != nullptr ? biases->info() : nullptr, made.output.tensor.info(),
                steps_of(n), multiplier, bounds, dilation));
            std::unique_ptr<NEDepthwiseConvolutionLayer> function(new NEDepthwiseConvolutionLayer());
            function->configure(&made.input.tensor, &made.weights.tensor, biases,
                                &made.output.tensor, steps_of(n), multiplier, bounds, dilation);
            made.function = std::move(function);
            made.weights.give(weights);
            if (bias != nullptr) {
                made.bias.give(bias);
            }
        },
        [&](Layer &made) {
            made.input.give(input);
            made.output.prepare(output);
        },
        [&](Layer &made) { made.output.fetch(output); });
}

int32_t acl_conv_f32(const float *input, const float *weights, const float *bias, float *output,
                     const float *bounds, const int32_t *layer)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    const TensorShape filter(whole(n.input_channels), whole(n.kernel_w), whole(n.kernel_h),
                             whole(n.output_channels));
    return layer_f32<NEConvolutionLayer>(
        input, weights, bias, output, layer, filter,
        [&](Layer &made, NEConvolutionLayer &function, const ITensor *biases) {
            const Size2D dilation(whole(n.dilation_w), whole(n.dilation_h));
            const ActivationLayerInfo clamped = clamp_of(bounds, n.is_clamped != 0);
            require(NEConvolutionLayer::validate(
                made.input.tensor.info(), made.weights.tensor.info(),
                biases != nullptr ? biases->info() : nullptr, made.output.tensor.info(),
                steps_of(n), WeightsInfo(), dilation, clamped));
            function.configure(&made.input.tensor, &made.weights.tensor, biases,
                               &made.output.tensor, steps_of(n), WeightsInfo(), dilation, clamped);
        });
}

int32_t acl_depthwise_f32(const float *input, const float *weights, const float *bias, float *output,
                          const float *bounds, const int32_t *layer)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    const TensorShape filter(whole(n.output_channels), whole(n.kernel_w), whole(n.kernel_h));
    return layer_f32<NEDepthwiseConvolutionLayer>(
        input, weights, bias, output, layer, filter,
        [&](Layer &made, NEDepthwiseConvolutionLayer &function, const ITensor *biases) {
            const Size2D dilation(whole(n.dilation_w), whole(n.dilation_h));
            const unsigned int multiplier = whole(n.output_channels / n.input_channels);
            const ActivationLayerInfo clamped = clamp_of(bounds, n.is_clamped != 0);
            require(NEDepthwiseConvolutionLayer::validate(
                made.input.tensor.info(), made.weights.tensor.info(),
                biases != nullptr ? biases->info() : nullptr, made.output.tensor.info(),
                steps_of(n), multiplier, clamped, dilation));
            function.configure(&made.input.tensor, &made.weights.tensor, biases,
                               &made.output.tensor, steps_of(n), multiplier, clamped, dilation);
        });
}

int32_t acl_matrix_f32(const float *input, const float *weights, const float *bias, float *output,
                       const float *bounds, const int32_t *layer)
{
    const acl_window &n = numbers_of<acl_window>(layer);
    const TensorShape filter(whole(n.input_channels), whole(n.output_channels));
    int32_t status = layer_f32<NEFullyConnectedLayer>(
        input, weights, bias, output, layer, filter,
        [&](Layer &made, NEFullyConnectedLayer &function, const ITensor *biases) {
            const TensorShape from(whole(n.input_channels), whole(n.batches));
            const TensorShape to(whole(n.output_channels), whole(n.batches));
            made.input.describe(from, DataType::F32);
            made.output.describe(to, DataType::F32);
            require(NEFullyConnectedLayer::validate(
                made.input.tensor.info(), made.weights.tensor.info(),
                biases != nullptr ? biases->info() : nullptr, made.output.tensor.info()));
            function.configure(&made.input.tensor, &made.weights.tensor, biases,
                               &made.output.tensor);
        });
    if (status == ACL_OK && n.is_clamped) {
        clamp(output, static_cast<size_t>(n.batches) * whole(n.output_channels), bounds[0],
              bounds[1]);
    }
    return status;
}

int32_t acl_max_pool_s8(const int8_t *input, int8_t *output, const int32_t *layer)
{
    return pool(PoolingType::MAX, input, output, nullptr, layer);
}

int32_t acl_max_pool_f32(const float *input, float *output, const float *bounds, const int32_t *layer)
{
    return pool(PoolingType::MAX, input, output, bounds, layer);
}

int32_t acl_average_pool_s8(const int8_t *input, int8_t *output, const int32_t *layer)
{
    return pool(PoolingType::AVG, input, output, nullptr, layer);
}

int32_t acl_average_pool_f32(const float *input, float *output, const float *bounds,
                             const int32_t *layer)
{
    return pool(PoolingType::AVG, input, output, bounds, layer);
}

int32_t acl_elements_s8(const int8_t *input, const int8_t *input2, int8_t *output,
                        const float *scales, const int32_t *layer)
{
    return elements(input, input2, output, scales, nullptr, layer);
}

int32_t acl_elements_f32(const float *input, const float *input2, float *output, const float *bounds,
                         const int32_t *layer)
{
    return elements(input, input2, output, nullptr, bounds, layer);
}

int32_t acl_reshape_s8(const int8_t *input, int8_t *output, const int32_t *layer)
{
    return reshape(input, output, layer);
}

int32_t acl_reshape_f32(const float *input, float *output, const int32_t *layer)
{
    return reshape(input, output, layer);
}

int32_t acl_l2_pool_f32(const float *input, float *output, const float *bounds, const int32_t *layer)
{
    return pool(PoolingType::L2, input, output, bounds, layer);
}
