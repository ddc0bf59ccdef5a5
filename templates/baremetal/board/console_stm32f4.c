{% include "board/console_stm32.c" %}
