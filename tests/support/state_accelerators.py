"""C that computes SVDF of int8 and LSTM of float32, whose states it keeps between inferences."""

from pathlib import Path

from tests.support.toy_accelerator import write_folder

TOML = """\
schema = 1
title = "SVDF in C"
kind = "device"
headers = ["toy_add.h"]
sources = ["toy_add.c"]

[[operator]]
chain = ["SVDF"]
where = [
    "state_elements * 2 == state_bytes and state_zero_point == 0",
    "weights_feature_is_constant and weights_time_is_constant",
]
call = "plain_svdf"
arguments = [
    "input", "weights_feature", "weights_time", "bias", "state", "output",
    "input_batches", "input_channels", "weights_feature_batches", "weights_time_channels", "rank",
    "input_zero_point", "output_zero_point", "feature_multiplier", "feature_shift",
    "output_multiplier", "output_shift", "scratch",
]
scratch = "4 * weights_feature_batches"
cycles = 1
"""
HEADER = """\
#include <stdint.h>
int32_t plain_svdf(const int8_t *input, const int8_t *feature, const int16_t *time,
    const int32_t *bias, int16_t *state, int8_t *output, int32_t batches, int32_t depth,
    int32_t filters, int32_t memory, int32_t rank, int32_t input_zero, int32_t output_zero,
    int32_t feature_multiplier, int32_t feature_shift, int32_t output_multiplier,
    int32_t output_shift, void *scratch);
"""
SOURCE = """\
static int32_t rescale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    int64_t product = (int64_t)(int32_t)((uint32_t)x << left) * multiplier;
    int64_t nudge = product >= 0 ? 1LL << 30 : 1 - (1LL << 30);
    int32_t value = (int32_t)((product + nudge) / (1LL << 31));
    int32_t mask = (int32_t)((1u << right) - 1u), rest = value & mask;
    return (value >> right) + (rest > (mask >> 1) + (value < 0));
}

static int32_t clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

int32_t plain_svdf(const int8_t *input, const int8_t *feature, const int16_t *time,
    const int32_t *bias, int16_t *state, int8_t *output, int32_t batches, int32_t depth,
    int32_t filters, int32_t memory, int32_t rank, int32_t input_zero, int32_t output_zero,
    int32_t feature_multiplier, int32_t feature_shift, int32_t output_multiplier,
    int32_t output_shift, void *scratch)
{
    int32_t *sums = scratch;
    for (int32_t b = 0; b < batches; b++) {
        int16_t *kept = &state[b * filters * memory];
        for (int32_t f = 0; f < filters; f++) {
            int32_t total = 0;
            for (int32_t i = 0; i < depth; i++) {
                total += feature[f * depth + i] * (input[b * depth + i] - input_zero);
            }
            for (int32_t i = 0; i + 1 < memory; i++) {
                kept[f * memory + i] = kept[f * memory + i + 1];
            }
            kept[(f + 1) * memory - 1] =
                (int16_t)clamp(rescale(total, feature_multiplier, feature_shift), -32768, 32767);
            sums[f] = 0;
            for (int32_t i = 0; i < memory; i++) {
                sums[f] += time[f * memory + i] * kept[f * memory + i];
            }
        }
        for (int32_t u = 0; u < filters / rank; u++) {
            int32_t total = bias[u];
            for (int32_t r = 0; r < rank; r++) {
                total += sums[u * rank + r];
            }
            total = rescale(total, output_multiplier, output_shift) + output_zero;
            output[b * (filters / rank) + u] = (int8_t)clamp(total, -128, 127);
        }
    }
    return 0;
}
"""


LSTM_TOML = """\
schema = 1
title = "LSTM in C"
kind = "device"
headers = ["toy_add.h"]
sources = ["toy_add.c"]
link = ["m"]

[[operator]]
chain = ["UNIDIRECTIONAL_SEQUENCE_LSTM"]
dtypes = ["float32"]
difference = 1
where = ["not time_major and cell_clip == 0"]
call = "plain_lstm"
arguments = [
    "input",
    "input_to_input_weights", "input_to_forget_weights", "input_to_cell_weights",
    "input_to_output_weights",
    "recurrent_to_input_weights", "recurrent_to_forget_weights", "recurrent_to_cell_weights",
    "recurrent_to_output_weights",
    "input_gate_bias", "forget_gate_bias", "cell_gate_bias", "output_gate_bias",
    "output_state", "cell_state", "output",
    "input_batches", "input_shape[1]", "input_channels", "output_channels",
]
cycles = 1
"""
_GATES = ", ".join(f"const float *{kind}{gate}" for kind in "wrb" for gate in "ifco")
LSTM_HEADER = f"""\
#include <stdint.h>
int32_t plain_lstm(const float *input, {_GATES}, float *hidden, float *cell, float *output,
    int32_t batches, int32_t steps, int32_t depth, int32_t units);
"""
LSTM_SOURCE = f"""\
#include <math.h>
static float gate(const float *x, const float *h, const float *w, const float *r, float bias,
    int32_t depth, int32_t units, int32_t unit)
{{{{
    float sum = bias;
    for (int32_t i = 0; i < depth; i++) {{{{
        sum += w[unit * depth + i] * x[i];
    }}}}
    for (int32_t i = 0; i < units; i++) {{{{
        sum += r[unit * units + i] * h[i];
    }}}}
    return sum;
}}}}

static float sigmoid(float x)
{{{{
    return 1.0f / (1.0f + expf(-x));
}}}}

int32_t plain_lstm(const float *input, {_GATES}, float *hidden, float *cell, float *output,
    int32_t batches, int32_t steps, int32_t depth, int32_t units)
{{{{
    for (int32_t b = 0; b < batches; b++) {{{{
        float *h = &hidden[b * units], *c = &cell[b * units];
        for (int32_t t = 0; t < steps; t++) {{{{
            const float *x = &input[(b * steps + t) * depth];
            float *y = &output[(b * steps + t) * units];
            for (int32_t u = 0; u < units; u++) {{{{
                float in = sigmoid(gate(x, h, wi, ri, bi[u], depth, units, u));
                float keep = sigmoid(gate(x, h, wf, rf, bf[u], depth, units, u));
                float next = tanhf(gate(x, h, wc, rc, bc[u], depth, units, u));
                float out = sigmoid(gate(x, h, wo, ro, bo[u], depth, units, u));
                c[u] = keep * c[u] + in * next;
                y[u] = out * tanhf(c[u]);
            }}}}
            for (int32_t u = 0; u < units; u++) {{{{
                h[u] = y[u];
            }}}}
        }}}}
    }}}}
    return 0;
}}}}
""".replace("{{", "{").replace("}}", "}")


def write_lstm_folder(folder: Path, toml: str = LSTM_TOML, source: str = LSTM_SOURCE) -> Path:
    """Write the folder of the LSTM, and return it."""
    return write_folder(folder, toml, LSTM_HEADER, source)


def write_svdf_folder(folder: Path, toml: str = TOML, source: str = SOURCE) -> Path:
    """Write the folder, or one with another declaration or source, and return it."""
    return write_folder(folder, toml, HEADER, source)
