extern const struct ethosgen_npu_stream {{ name }}_npu_streams[{{ streams|length }}];
const struct ethosgen_npu_stream {{ name }}_npu_streams[{{ streams|length }}] = {
{% for stream in streams %}
    {
        /* {{ stream.name }}: {{ stream.comment }} */
{% if not apart %}
        .words = {{ stream.symbol }},
        .bytes = {{ stream.bytes }}u,
{% endif %}
        .qconfig = {{ stream.qconfig }}u,
        .regioncfg = 0x{{ "%04x"|format(stream.regioncfg) }}u,
{% if apart %}
        .base_bytes = { {%- for bytes in stream.base_bytes %}{{ 0 if loop.index0 == stream.weights_base else bytes }}u{{ ", " if not loop.last }}{% endfor -%} },
{% else %}
        .base_bytes = { {{- stream.base_bytes|join("u, ") -}} u},
{% endif %}
    },
{% endfor %}
};

{% if apart %}
/* The region of each stream's commands in the file of weights. */
static const uint16_t command_regions[] = { {%- for stream in streams %}{{ weights_numbers[stream.symbol] }}u{{ ", " if not loop.last }}{% endfor -%} };

{% endif %}
static inline uintptr_t address_of(const void *base)
{
    return (uintptr_t)(const uint8_t *)base;
}

/* The graph calls this once for each partition that runs on the NPU. */
int32_t {{ name }}_npu_invoke(int32_t stream, const void *base0, const void *base1, const void *base2,
    const void *base3, const void *base4, const void *base5, const void *base6, const void *base7)
{
    const uintptr_t base[ETHOSGEN_NPU_BASES] = {
        address_of(base0), address_of(base1), {{ "(uintptr_t)" ~ fast if fast_bytes else "address_of(base2)" }}, address_of(base3),
        address_of(base4), address_of(base5), address_of(base6), address_of(base7),
    };
{% if fast_bytes %}
    (void)base2;
{% endif %}
{% if apart %}
    /* Static, because Arm's driver may need its ports at any time. */
    static struct ethosgen_npu_stream current;
    const struct ethosgen_weights_region *commands =
        ethosgen_weights_region({{ name }}_weights_file.start, command_regions[stream]);

    current = {{ name }}_npu_streams[stream];
    current.words = (const uint32_t *)ethosgen_weights_at({{ name }}_weights_file.start, command_regions[stream]);
    current.bytes = commands->bytes;
{% set bases = streams|map(attribute="weights_base")|reject("none")|unique|list %}
{% if bases and "%s_weights"|format(name) in weights_numbers %}
    current.base_bytes[{{ bases[0] }}] =
        ethosgen_weights_region({{ name }}_weights_file.start, {{ weights_numbers[name ~ "_weights"] }}u)->bytes;
{% endif %}
    return (int32_t)ethosgen_npu_run(&current, base);
{% else %}
    return (int32_t)ethosgen_npu_run(&{{ name }}_npu_streams[stream], base);
{% endif %}
}
