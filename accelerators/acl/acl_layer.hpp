/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's objects of Arm Compute Library, and the tensors that they work on. */
#ifndef ACL_LAYER_HPP
#define ACL_LAYER_HPP

#include "acl.h"

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <arm_compute/core/Types.h>
#include <arm_compute/runtime/NEON/functions/NEIm2Col.h>
#include <arm_compute/runtime/Scheduler.h>
#include <arm_compute/runtime/Tensor.h>

#ifndef ACL_THREADS
#define ACL_THREADS 1 /* threads of a call; results do not depend on it */
#endif

namespace
{
using namespace arm_compute;

struct Refused {
};

void require(const Status &status)
{
    if (!bool(status)) {
        throw Refused();
    }
}

/* A tensor at the caller's address, or, if a function needs padding around it, a copy of it. */
class Edge
{
public:
    Tensor tensor{};

    void describe(const TensorShape &shape, DataType type, const QuantizationInfo &quantization = {},
                  DataLayout layout = DataLayout::NHWC)
    {
        TensorInfo info(shape, 1, type);
        info.set_data_layout(layout);
        info.set_quantization_info(quantization);
        tensor.allocator()->init(info);
    }

    void give(const void *address)
    {
        if (has_padding()) {
            own();
            copy(static_cast<uint8_t *>(const_cast<void *>(address)), true);
        } else if (address != _address) {
            require(tensor.allocator()->import_memory(const_cast<void *>(address)));
            _address = address;
        }
    }

    void prepare(void *address)
    {
        if (has_padding()) {
            own();
        } else {
            give(address);
        }
    }

    void fetch(void *address)
    {
        if (has_padding()) {
            copy(static_cast<uint8_t *>(address), false);
        }
    }

private:
    const void *_address = nullptr;

    bool has_padding()
    {
        return tensor.info()->has_padding();
    }

    void own()
    {
        if (tensor.buffer() == nullptr) {
            tensor.allocator()->allocate();
        }
    }

    void copy(uint8_t *dense, bool is_input)
    {
        const ITensorInfo &info = *tensor.info();
        const size_t row = info.dimension(0) * info.element_size();
        Window window;
        window.use_tensor_dimensions(info.tensor_shape(), 1);
        execute_window_loop(window, [&](const Coordinates &at) {
            uint8_t *padded = tensor.ptr_to_element(at);
            std::memcpy(is_input ? padded : dense, is_input ? dense : padded, row);
            dense += row;
        });
    }
};

/* The library's objects for one layer. */
struct Layer {
    Edge input, input2, output, weights, bias;
    Tensor columns{}, matrix{}; /* windows as rows of a matrix, and the same memory by its rows */
    NEIm2Col windows{};
    std::unique_ptr<IFunction> function{};
    bool has_windows = false;

    void run()
    {
        if (has_windows) {
            windows.run();
        }
        function->run();
    }
};

using Key = std::pair<const void *, const void *>;

std::mutex one_at_a_time;

/* Runs a layer, whose objects `make` configures at the first call; `give` and `take` pass the tensors. */
template <typename Make, typename Give, typename Take>
int32_t with_layer(const void *layer, const void *weights, Make make, Give give, Take take)
{
    static std::map<Key, std::unique_ptr<Layer>> layers;
    std::lock_guard<std::mutex> guard(one_at_a_time);
    try {
        std::unique_ptr<Layer> &kept = layers[Key(layer, weights)];
        if (!kept) {
            Scheduler::get().set_num_threads(ACL_THREADS);
            std::unique_ptr<Layer> made(new Layer());
            make(*made);
            kept = std::move(made);
        }
        give(*kept);
        kept->run();
        take(*kept);
        return ACL_OK;
    } catch (const Refused &) {
        return ACL_REFUSED;
    } catch (...) {
        return ACL_FAILED;
    }
}

template <typename T> const T &numbers_of(const int32_t *layer)
{
    return *reinterpret_cast<const T *>(static_cast<const void *>(layer));
}

unsigned int whole(int32_t number)
{
    return static_cast<unsigned int>(number);
}

TensorShape input_shape(const acl_window &n)
{
    return TensorShape(whole(n.input_channels), whole(n.input_w), whole(n.input_h), whole(n.batches));
}

TensorShape output_shape(const acl_window &n)
{
    return TensorShape(whole(n.output_channels), whole(n.output_w), whole(n.output_h),
                       whole(n.batches));
}

PadStrideInfo steps_of(const acl_window &n)
{
    return PadStrideInfo(whole(n.stride_w), whole(n.stride_h), whole(n.pad_left), whole(n.pad_right),
                         whole(n.pad_top), whole(n.pad_bottom), DimensionRoundingType::FLOOR);
}

ActivationLayerInfo clamp_of(const float *bounds, bool is_clamped)
{
    if (!is_clamped) {
        return ActivationLayerInfo();
    }
    if (bounds[1] >= std::numeric_limits<float>::max()) {
        return ActivationLayerInfo(ActivationLayerInfo::ActivationFunction::RELU);
    }
    return ActivationLayerInfo(ActivationLayerInfo::ActivationFunction::LU_BOUNDED_RELU, bounds[1],
                               bounds[0]);
}

/* The smallest and the largest int8 output of a layer, as real numbers. */
template <typename Numbers>
ActivationLayerInfo clamp_of(const Numbers &n, float scale)
{
    const float bounds[] = { static_cast<float>(n.activation_min - n.output_zero_point) * scale,
                             static_cast<float>(n.activation_max - n.output_zero_point) * scale };
    return clamp_of(bounds, n.is_clamped != 0);
}
} // namespace

#endif // ACL_LAYER_HPP
