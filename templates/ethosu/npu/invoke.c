static const struct ethosgen_npu_stream streams[] = {
{% for stream in streams %}
    {
        /* {{ stream.name }}: {{ stream.comment }} */
        .words = {{ stream.symbol }},
        .bytes = {{ stream.bytes }},
        .qconfig = {{ stream.qconfig }},
        .regioncfg = 0x{{ "%04x"|format(stream.regioncfg) }},
        .base_bytes = { {{- stream.base_bytes|join(", ") -}} },
    },
{% endfor %}
};

/* The graph calls this once for each partition that runs on the NPU. */
int32_t {{ name }}_npu_invoke(int32_t stream, void *base0, void *base1, void *base2, void *base3,
    void *base4, void *base5, void *base6, void *base7)
{
    const uintptr_t base[ETHOSGEN_NPU_BASES] = {
        (uintptr_t)base0, (uintptr_t)base1, (uintptr_t){{ fast if fast_bytes else "base2" }}, (uintptr_t)base3,
        (uintptr_t)base4, (uintptr_t)base5, (uintptr_t)base6, (uintptr_t)base7,
    };
{% if fast_bytes %}
    (void)base2;
{% endif %}
    return (int32_t)ethosgen_npu_run(&streams[stream], base);
}
