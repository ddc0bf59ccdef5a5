
# The lengths of the NPU's bursts that Vela assumed.
{% if product == "u85" %}
set(ETHOSGEN_NPU_LIMITS "AXI_LIMIT_SRAM_MAX_BEATS={{ axi_beats[0] }};AXI_LIMIT_EXT_MAX_BEATS={{ axi_beats[1] }}")
{% else %}
set(ETHOSGEN_NPU_LIMITS "{% for i in range(4) %}AXI_LIMIT{{ i }}_MAX_BEATS_BYTES={{ axi_beats[i // 2] }}{{ ";" if not loop.last }}{% endfor %}")
{% endif %}
{% if npu_ports is not none %}

# The AXI port of each region, for versions of the driver that have it compiled in.
set(ETHOSGEN_NPU_PORTS "{% for name, value in npu_ports.items() %}{{ name }}={{ value }}{{ ";" if not loop.last }}{% endfor %}")
{% endif %}
