{% for write in board.console.setup %}
    /* {{ write.why }} */
    REGISTER(0x{{ "%08x"|format(write.addr) }}u) =
        (REGISTER(0x{{ "%08x"|format(write.addr) }}u) & ~0x{{ "%08x"|format(write.clear) }}u) | 0x{{ "%08x"|format(write.set) }}u;
{% endfor %}
