/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of CMSIS-NN: see cmsis_nn.h. */
#include "cmsis_nn.h"

#include "arm_nnfunctions.h"

/* CMSIS-NN's structures have pointers to int32_t that it does not write. */
static int32_t *unlocked(const int32_t *numbers)
{
    return (int32_t *)(uintptr_t)numbers;
}

static cmsis_nn_dims input_of(const struct cmsis_nn_window *layer)
{
    cmsis_nn_dims dims = { layer->batches, layer->input_h, layer->input_w, layer->input_channels };
    return dims;
}

static cmsis_nn_dims output_of(const struct cmsis_nn_window *layer)
{
    cmsis_nn_dims dims = { layer->batches, layer->output_h, layer->output_w, layer->output_channels };
    return dims;
}

static cmsis_nn_conv_params conv_of(const struct cmsis_nn_window *layer)
{
    cmsis_nn_conv_params params = {
        .input_offset = layer->input_offset,
        .output_offset = layer->output_offset,
        .stride = { layer->stride_w, layer->stride_h },
        .padding = { layer->pad_left, layer->pad_top },
        .dilation = { layer->dilation_w, layer->dilation_h },
        .activation = { layer->activation_min, layer->activation_max },
    };
    return params;
}

static cmsis_nn_dims weights_of(const struct cmsis_nn_window *layer)
{
    cmsis_nn_dims dims = { layer->output_channels, layer->kernel_h, layer->kernel_w,
                           layer->input_channels };
    return dims;
}

int32_t cmsis_nn_conv(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
                      const int32_t *multipliers, const int32_t *shifts, void *scratch,
                      const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { scratch, layer->scratch_bytes };
    const cmsis_nn_conv_params params = conv_of(layer);
    const cmsis_nn_per_channel_quant_params quantization = { unlocked(multipliers), unlocked(shifts) };
    const cmsis_nn_dims from = input_of(layer), filter = weights_of(layer), to = output_of(layer);
    const cmsis_nn_dims biases = { 1, 1, 1, layer->output_channels };

    return arm_convolve_wrapper_s8(&context, &params, &quantization, &from, input, &filter, weights,
                                   &biases, bias, &to, output);
}

int32_t cmsis_nn_conv_s16(const int16_t *input, const int8_t *weights, const int64_t *bias,
                          int16_t *output, const int32_t *multipliers, const int32_t *shifts,
                          void *scratch, const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { scratch, layer->scratch_bytes };
    const cmsis_nn_conv_params params = conv_of(layer);
    const cmsis_nn_per_channel_quant_params quantization = { unlocked(multipliers), unlocked(shifts) };
    const cmsis_nn_bias_data wide = { bias, false };
    const cmsis_nn_dims from = input_of(layer), filter = weights_of(layer), to = output_of(layer);
    const cmsis_nn_dims biases = { 1, 1, 1, layer->output_channels };

    return arm_convolve_wrapper_s16(&context, &params, &quantization, &from, input, &filter, weights,
                                    &biases, &wide, &to, output);
}

static cmsis_nn_dw_conv_params depthwise_of(const struct cmsis_nn_window *layer)
{
    cmsis_nn_dw_conv_params params = {
        .input_offset = layer->input_offset,
        .output_offset = layer->output_offset,
        .ch_mult = layer->output_channels / layer->input_channels,
        .stride = { layer->stride_w, layer->stride_h },
        .padding = { layer->pad_left, layer->pad_top },
        .dilation = { layer->dilation_w, layer->dilation_h },
        .activation = { layer->activation_min, layer->activation_max },
    };
    return params;
}

int32_t cmsis_nn_depthwise(const int8_t *input, const int8_t *weights, const int32_t *bias,
                           int8_t *output, const int32_t *multipliers, const int32_t *shifts,
                           void *scratch, const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { scratch, layer->scratch_bytes };
    const cmsis_nn_dw_conv_params params = depthwise_of(layer);
    const cmsis_nn_per_channel_quant_params quantization = { unlocked(multipliers), unlocked(shifts) };
    const cmsis_nn_dims from = input_of(layer), to = output_of(layer);
    const cmsis_nn_dims filter = { 1, layer->kernel_h, layer->kernel_w, layer->output_channels };
    const cmsis_nn_dims biases = { 1, 1, 1, layer->output_channels };

    return arm_depthwise_conv_wrapper_s8(&context, &params, &quantization, &from, input, &filter,
                                         weights, &biases, bias, &to, output);
}

int32_t cmsis_nn_depthwise_s16(const int16_t *input, const int8_t *weights, const int64_t *bias,
                               int16_t *output, const int32_t *multipliers, const int32_t *shifts,
                               void *scratch, const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { scratch, layer->scratch_bytes };
    const cmsis_nn_dw_conv_params params = depthwise_of(layer);
    const cmsis_nn_per_channel_quant_params quantization = { unlocked(multipliers), unlocked(shifts) };
    const cmsis_nn_dims from = input_of(layer), to = output_of(layer);
    const cmsis_nn_dims filter = { 1, layer->kernel_h, layer->kernel_w, layer->output_channels };
    const cmsis_nn_dims biases = { 1, 1, 1, layer->output_channels };

    return arm_depthwise_conv_wrapper_s16(&context, &params, &quantization, &from, input, &filter,
                                          weights, &biases, bias, &to, output);
}

int32_t cmsis_nn_matrix(const int8_t *input, const int8_t *weights, const int32_t *bias,
                        const int32_t *sums, int8_t *output, const int32_t *multipliers,
                        const int32_t *shifts, const int32_t *numbers)
{
    const struct cmsis_nn_matrix *layer = (const struct cmsis_nn_matrix *)(const void *)numbers;
    const cmsis_nn_context context = { unlocked(sums), layer->columns * (int32_t)sizeof *sums };
    const cmsis_nn_fc_params params = {
        .input_offset = layer->input_offset,
        .filter_offset = 0,
        .output_offset = layer->output_offset,
        .activation = { layer->activation_min, layer->activation_max },
    };
    const cmsis_nn_quant_params quantization = { unlocked(multipliers), unlocked(shifts),
                                                 layer->is_per_channel };
    const cmsis_nn_dims from = { layer->rows, 1, 1, layer->depth };
    const cmsis_nn_dims filter = { layer->depth, 1, 1, layer->columns };
    const cmsis_nn_dims biases = { 1, 1, 1, layer->columns };
    const cmsis_nn_dims to = { layer->rows, 1, 1, layer->columns };

    return arm_fully_connected_wrapper_s8(&context, &params, &quantization, &from, input, &filter,
                                          weights, &biases, bias, &to, output);
}

int32_t cmsis_nn_matrix_s16(const int16_t *input, const int8_t *weights, const int64_t *bias,
                            int16_t *output, int32_t multiplier, int32_t shift,
                            const int32_t *numbers)
{
    const struct cmsis_nn_matrix *layer = (const struct cmsis_nn_matrix *)(const void *)numbers;
    const cmsis_nn_context context = { NULL, 0 };
    const cmsis_nn_fc_params params = {
        .activation = { layer->activation_min, layer->activation_max },
    };
    const cmsis_nn_per_tensor_quant_params quantization = { multiplier, shift };
    const cmsis_nn_dims from = { layer->rows, 1, 1, layer->depth };
    const cmsis_nn_dims filter = { layer->depth, 1, 1, layer->columns };
    const cmsis_nn_dims biases = { 1, 1, 1, layer->columns };
    const cmsis_nn_dims to = { layer->rows, 1, 1, layer->columns };

    return arm_fully_connected_s16(&context, &params, &quantization, &from, input, &filter, weights,
                                   &biases, bias, &to, output);
}

static cmsis_nn_pool_params pool_of(const struct cmsis_nn_window *layer)
{
    cmsis_nn_pool_params params = {
        .stride = { layer->stride_w, layer->stride_h },
        .padding = { layer->pad_left, layer->pad_top },
        .activation = { layer->activation_min, layer->activation_max },
    };
    return params;
}

int32_t cmsis_nn_average_pool(const int8_t *input, int8_t *output, void *scratch,
                              const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { scratch, layer->scratch_bytes };
    const cmsis_nn_pool_params params = pool_of(layer);
    const cmsis_nn_dims from = input_of(layer), to = output_of(layer);
    const cmsis_nn_dims filter = { 1, layer->kernel_h, layer->kernel_w, 1 };

    return arm_avgpool_s8(&context, &params, &from, input, &filter, &to, output);
}

int32_t cmsis_nn_max_pool(const int8_t *input, int8_t *output, const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { NULL, 0 };
    const cmsis_nn_pool_params params = pool_of(layer);
    const cmsis_nn_dims from = input_of(layer), to = output_of(layer);
    const cmsis_nn_dims filter = { 1, layer->kernel_h, layer->kernel_w, 1 };

    return arm_max_pool_s8(&context, &params, &from, input, &filter, &to, output);
}

int32_t cmsis_nn_add(const int8_t *input, const int8_t *input2, int8_t *output,
                     const int32_t *numbers)
{
    const struct cmsis_nn_sum *layer = (const struct cmsis_nn_sum *)(const void *)numbers;

    return arm_elementwise_add_s8(input, input2, layer->input_offset, layer->input_multiplier,
                                  layer->input_shift, layer->input2_offset,
                                  layer->input2_multiplier, layer->input2_shift, layer->left_shift,
                                  output, layer->output_offset, layer->output_multiplier,
                                  layer->output_shift, layer->activation_min,
                                  layer->activation_max, layer->elements);
}

int32_t cmsis_nn_mul(const int8_t *input, const int8_t *input2, int8_t *output,
                     const int32_t *numbers)
{
    const struct cmsis_nn_sum *layer = (const struct cmsis_nn_sum *)(const void *)numbers;

    return arm_elementwise_mul_s8(input, input2, layer->input_offset, layer->input2_offset, output,
                                  layer->output_offset, layer->output_multiplier,
                                  layer->output_shift, layer->activation_min,
                                  layer->activation_max, layer->elements);
}

int32_t cmsis_nn_minimum(const int8_t *input, const int8_t *input2, int8_t *output, int32_t elements)
{
    const cmsis_nn_context context = { NULL, 0 };
    const cmsis_nn_dims dims = { 1, 1, 1, elements };

    return arm_minimum_s8(&context, input, &dims, input2, &dims, output, &dims);
}

int32_t cmsis_nn_maximum(const int8_t *input, const int8_t *input2, int8_t *output, int32_t elements)
{
    const cmsis_nn_context context = { NULL, 0 };
    const cmsis_nn_dims dims = { 1, 1, 1, elements };

    return arm_maximum_s8(&context, input, &dims, input2, &dims, output, &dims);
}

int32_t cmsis_nn_transpose_conv(const int8_t *input, const int8_t *weights, const int32_t *bias,
                                int8_t *output, const int32_t *multipliers, const int32_t *shifts,
                                void *scratch, const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    int32_t turned_bytes = layer->output_channels * layer->kernel_h * layer->kernel_w *
                           layer->input_channels;
    int32_t sums_bytes = layer->scratch_bytes - turned_bytes;
    const cmsis_nn_context context = { scratch, sums_bytes };
    const cmsis_nn_context turned = { (int8_t *)scratch + sums_bytes, turned_bytes };
    const cmsis_nn_transpose_conv_params params = {
        .input_offset = layer->input_offset,
        .output_offset = layer->output_offset,
        .stride = { layer->stride_w, layer->stride_h },
        .padding = { layer->pad_left, layer->pad_top },
        .dilation = { 1, 1 },
        .activation = { layer->activation_min, layer->activation_max },
    };
    const cmsis_nn_per_channel_quant_params quantization = { unlocked(multipliers), unlocked(shifts) };
    const cmsis_nn_dims from = input_of(layer), filter = weights_of(layer), to = output_of(layer);
    const cmsis_nn_dims biases = { 1, 1, 1, layer->output_channels };

    return arm_transpose_conv_wrapper_s8(&context, &turned, &params, &quantization, &from, input,
                                         &filter, weights, &biases, bias, &to, output);
}

/* Write each matrix of `depth` rows as one of `columns` rows. */
static void turn(const struct cmsis_nn_products *layer, const int8_t *from, int8_t *to)
{
    for (int32_t i = 0; i < layer->batches; i++) {
        for (int32_t column = 0; column < layer->columns; column++) {
            for (int32_t k = 0; k < layer->depth; k++) {
                *to++ = from[k * layer->columns + column];
            }
        }
        from += layer->depth * layer->columns;
    }
}

int32_t cmsis_nn_products(const int8_t *input, const int8_t *input2, int8_t *output, void *scratch,
                          const int32_t *numbers)
{
    const struct cmsis_nn_products *layer = (const struct cmsis_nn_products *)(const void *)numbers;
    int32_t sums_bytes = layer->columns * (int32_t)sizeof(int32_t);
    const cmsis_nn_context context = { scratch, sums_bytes };
    const cmsis_nn_bmm_params params = {
        .adj_x = false,
        .adj_y = true,
        .fc_params = { layer->input_offset, layer->input2_offset, layer->output_offset,
                       { INT8_MIN, INT8_MAX } },
    };
    const cmsis_nn_per_tensor_quant_params quantization = { layer->multiplier, layer->shift };
    const cmsis_nn_dims left = { 1, layer->batches, layer->rows, layer->depth };
    const cmsis_nn_dims right = { 1, layer->batches, layer->columns, layer->depth };
    const cmsis_nn_dims to = { 1, layer->batches, layer->rows, layer->columns };

    if (!layer->is_turned) {
        int8_t *turned = (int8_t *)scratch + sums_bytes;
        turn(layer, input2, turned);
        input2 = turned;
    }
    return arm_batch_matmul_s8(&context, &params, &quantization, &left, input, &right, input2, &to,
                               output);
}

int32_t cmsis_nn_add_s16(const int16_t *input, const int16_t *input2, int16_t *output,
                         const int32_t *numbers)
{
    const struct cmsis_nn_sum *layer = (const struct cmsis_nn_sum *)(const void *)numbers;

    return arm_elementwise_add_s16(input, input2, 0, layer->input_multiplier, layer->input_shift, 0,
                                   layer->input2_multiplier, layer->input2_shift,
                                   layer->left_shift, output, 0, layer->output_multiplier,
                                   layer->output_shift, layer->activation_min,
                                   layer->activation_max, layer->elements);
}

int32_t cmsis_nn_mul_s16(const int16_t *input, const int16_t *input2, int16_t *output,
                         const int32_t *numbers)
{
    const struct cmsis_nn_sum *layer = (const struct cmsis_nn_sum *)(const void *)numbers;

    return arm_elementwise_mul_s16(input, input2, 0, 0, output, 0, layer->output_multiplier,
                                   layer->output_shift, layer->activation_min,
                                   layer->activation_max, layer->elements);
}

int32_t cmsis_nn_average_pool_s16(const int16_t *input, int16_t *output, void *scratch,
                                  const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { scratch, layer->scratch_bytes };
    const cmsis_nn_pool_params params = pool_of(layer);
    const cmsis_nn_dims from = input_of(layer), to = output_of(layer);
    const cmsis_nn_dims filter = { 1, layer->kernel_h, layer->kernel_w, 1 };

    return arm_avgpool_s16(&context, &params, &from, input, &filter, &to, output);
}

int32_t cmsis_nn_max_pool_s16(const int16_t *input, int16_t *output, const int32_t *numbers)
{
    const struct cmsis_nn_window *layer = (const struct cmsis_nn_window *)(const void *)numbers;
    const cmsis_nn_context context = { NULL, 0 };
    const cmsis_nn_pool_params params = pool_of(layer);
    const cmsis_nn_dims from = input_of(layer), to = output_of(layer);
    const cmsis_nn_dims filter = { 1, layer->kernel_h, layer->kernel_w, 1 };

    return arm_max_pool_s16(&context, &params, &from, input, &filter, &to, output);
}

int32_t cmsis_nn_softmax(const int8_t *input, int8_t *output, int32_t rows, int32_t columns,
                         int32_t multiplier, int32_t shift, int32_t least_difference)
{
    arm_softmax_s8(input, rows, columns, multiplier, shift, least_difference, output);
    return ARM_CMSIS_NN_SUCCESS;
}

int32_t cmsis_nn_softmax_s16(const int16_t *input, int16_t *output, int32_t rows, int32_t columns,
                             int32_t multiplier, int32_t shift, const int16_t *exponentials,
                             const int16_t *reciprocals)
{
    const cmsis_nn_softmax_lut_s16 tables = { exponentials, reciprocals };

    return arm_softmax_s16(input, rows, columns, multiplier, shift, &tables, output);
}

int32_t cmsis_nn_pad(const int8_t *input, int8_t *output, int32_t value, const int32_t *sizes,
                     const int32_t *before, const int32_t *after)
{
    return arm_pad_s8(input, output, (int8_t)value, (const cmsis_nn_dims *)(const void *)sizes,
                      (const cmsis_nn_dims *)(const void *)before,
                      (const cmsis_nn_dims *)(const void *)after);
}

/* CMSIS-NN pads bytes: a pixel has twice as many as numbers, and the zero point is 0. */
int32_t cmsis_nn_pad_s16(const int16_t *input, int16_t *output, const int32_t *sizes,
                         const int32_t *before, const int32_t *after)
{
    return cmsis_nn_pad((const int8_t *)(const void *)input, (int8_t *)(void *)output, 0, sizes,
                        before, after);
}
