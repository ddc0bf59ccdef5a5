/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the board, the {{ "NPU and the " if npu }}network{{ "s" if is_shared }}, then runs the application
 * (application.c).
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "application.h"
#include "board.h"
#include "report.h"

{% for name in names %}
#include "{{ name }}.h"
{% endfor %}
{% if devices %}
#include "ethosgen_devices.h"
{% endif %}

static ethosgen_status start(void)
{
    ethosgen_status status = ETHOSGEN_OK;

{% if npu %}
    status = ethosgen_npu_init(BOARD_NPU_BASE, BOARD_NPU_SECURE, BOARD_NPU_PRIVILEGED);
{% endif %}
{% for device in devices if not platform.starts_devices %}
    ethosgen_device_init(&{{ device.symbol }}, BOARD_{{ device.c_name|upper }}_BASE);
{% endfor %}
{% for name in names %}
    if (status == ETHOSGEN_OK) {
        status = {{ name }}_init();
    }
{% endfor %}
    return status;
}

#ifdef ETHOSGEN_PROFILE
/* The other firmware counts the steps; a build for it calls this in the application too. */
void ethosgen_profile_step(uint32_t step)
{
    (void)step;
}
#endif

int main(void)
{
    board_init();
    ethosgen_status status = start();

    console_init();
    if (status != ETHOSGEN_OK) {
        report_failure("the start", (uint32_t)status); /* each inference will fail, too */
    }
    application_run();
    board_exit(report_failures() != 0);
    return 0;
}
