{% set writes = board.console.setup %}
{% include "board/setup.c" %}
