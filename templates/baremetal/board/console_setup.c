{% if not board.is_non_secure %}
{% set writes = board.console.setup %}
{% include "board/setup.c" %}{% endif %}
