/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: what the secure side keeps, and what it hands over to the non-secure firmware.
 * docs/trustzone.md of ethosgen explains each step.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef PARTITION_H
#define PARTITION_H

#include <stdint.h>

/* The IDAU: an address with this bit is secure, its alias without it is not. */
#define SECURE_BIT (1u << {{ secure.bit }})
#define ALIAS(addr) ((addr) & ~SECURE_BIT)

/* The secure image; its variables and stack. */
{% for part in ("code", "data") %}
#define SECURE_{{ part|upper }}_START 0x{{ "%08x"|format(secure[part].start) }}u
#define SECURE_{{ part|upper }}_LAST 0x{{ "%08x"|format(secure[part].last) }}u
{% endfor %}

/* The vector table of the non-secure image. */
#define NON_SECURE_VECTORS 0x{{ "%08x"|format(secure.vectors) }}u

/* The regions that the SAU makes non-secure; everything else is secure. The veneers are another
 * region, at addresses that the linker chooses. */
{% for region in secure.regions %}
#define NS_{{ region.name }}_START 0x{{ "%08x"|format(region.start) }}u
#define NS_{{ region.name }}_LAST 0x{{ "%08x"|format(region.last) }}u
{% endfor %}
#define SAU_REGIONS {{ secure.regions|length + 1 }}u
#define SAU_ALIGNMENT 32u

#define ARE_APART(one, other) (one##_LAST < other##_START || other##_LAST < one##_START)
#define FITS_SAU(name) (name##_START % SAU_ALIGNMENT == 0 && name##_LAST % SAU_ALIGNMENT == SAU_ALIGNMENT - 1u)
#define IS_NON_SECURE(name) (name##_START < name##_LAST && ((name##_START | name##_LAST) & SECURE_BIT) == 0)
#define SECURE_CODE_ALIAS_START ALIAS(SECURE_CODE_START)
#define SECURE_CODE_ALIAS_LAST ALIAS(SECURE_CODE_LAST)
#define SECURE_DATA_ALIAS_START ALIAS(SECURE_DATA_START)
#define SECURE_DATA_ALIAS_LAST ALIAS(SECURE_DATA_LAST)

_Static_assert((SECURE_CODE_START & SECURE_CODE_LAST & SECURE_BIT) != 0, "the IDAU must keep the code secure");
_Static_assert((SECURE_DATA_START & SECURE_DATA_LAST & SECURE_BIT) != 0, "the IDAU must keep the data secure");
{% for region in secure.regions %}
_Static_assert(FITS_SAU(NS_{{ region.name }}), "regions of the SAU are multiples of 32 bytes");
_Static_assert(IS_NON_SECURE(NS_{{ region.name }}), "the IDAU overrules a region on secure addresses");
_Static_assert(ARE_APART(NS_{{ region.name }}, SECURE_CODE_ALIAS), "the secure code's alias must stay secure");
_Static_assert(ARE_APART(NS_{{ region.name }}, SECURE_DATA_ALIAS), "the secure data's alias must stay secure");
{% for other in secure.regions[loop.index:] %}
_Static_assert(ARE_APART(NS_{{ region.name }}, NS_{{ other.name }}), "the SAU forbids overlapping regions");
{% endfor %}
{% endfor %}
{% if npu %}

/* The NPU's registers at their secure addresses, until the secure side hands them over. */
{% if secure.npu_by_way|length > 1 %}
{% for way in secure.npu_by_way %}
#{{ "if" if loop.first else "elif" }} defined(BOARD_ON_{{ way.id|upper }})
#define SECURE_NPU_BASE 0x{{ "%08x"|format(way.addr) }}u{{ " /* the NPU model's, in non-secure memory */" if way.is_model }}
{% endfor %}
#endif
{% else %}
#define SECURE_NPU_BASE 0x{{ "%08x"|format(secure.npu_by_way[0].addr) }}u
{% endif %}
{% endif %}

#endif /* PARTITION_H */
