{{ NAME }}_SOURCES += ethosgen_npu_direct.c
{% if product == "u85" %}
{{ NAME }}_CFLAGS += -DETHOSU85
{% endif %}
