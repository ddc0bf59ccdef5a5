{% for write in writes %}
    /* {{ write.why }} */
{% if write.clear or write.set or write.await_addr is none %}
    REGISTER(0x{{ "%08x"|format(write.addr) }}u) =
        (REGISTER(0x{{ "%08x"|format(write.addr) }}u) & ~0x{{ "%08x"|format(write.clear) }}u) | 0x{{ "%08x"|format(write.set) }}u;
{% endif %}
{% if write.await_addr is not none %}
    await_register(0x{{ "%08x"|format(write.await_addr) }}u, 0x{{ "%08x"|format(write.await_mask) }}u, 0x{{ "%08x"|format(write.await_bits) }}u);
{% endif %}
{% endfor %}
