"""A toy adder that is started and awaited, in two forms that disagree about when they compute.

Whatever uses its memory between start and wait makes one of them wrong: the lazy one reads and
writes only in the wait, the eager one writes only in the start, and spoils its inputs' copy.
"""

from pathlib import Path

from tests.support.toy_accelerator import TOML, changed, write_folder

HEADER = """\
#include <stdint.h>
int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count, void *scratch);
int32_t toy_wait(void);
"""
_BODY = """
static const int8_t *one, *other;
static int8_t *result, *copy;
static int32_t length;

static int32_t work(void)
{
    for (int32_t i = 0; i < length; i++) {
        int total = one[i] + other[i];
        copy[i] = (int8_t)(total > 127 ? 127 : total < -128 ? -128 : total);
        result[i] = copy[i];
    }
    return 0;
}

int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count, void *scratch)
{
    one = a;
    other = b;
    result = sum;
    length = count;
    copy = scratch;
    return START;
}

int32_t toy_wait(void)
{
    return WAIT;
}
"""
LAZY = _BODY.replace("START", "0").replace("WAIT", "work()")
EAGER = _BODY.replace("START", "work()").replace("WAIT", "copy[0] == result[0] ? 0 : 77")
TOML_AWAITED = changed(
    '"output_elements"]\n', '"output_elements", "scratch"]\nawaited = "toy_wait"\n', TOML
).replace('call = "toy_add"\n', 'call = "toy_add"\nscratch = "output_elements"\n')


def write_lazy_folder(folder: Path, source: str = LAZY) -> Path:
    """Write the folder of one form, and return it."""
    return write_folder(folder, TOML_AWAITED, HEADER, source)


MANY_HEADER = """\
#include <stdint.h>
int32_t toy_add(int32_t instance, const int8_t *a, const int8_t *b, int8_t *sum, int32_t count,
    void *scratch);
int32_t toy_wait(int32_t instance);
"""
MANY = """
static struct {
    const int8_t *one, *other;
    int8_t *result, *copy;
    int32_t length;
} jobs[INSTANCES];

static int32_t work(int32_t i)
{
    for (int32_t at = 0; at < jobs[i].length; at++) {
        int total = jobs[i].one[at] + jobs[i].other[at];
        jobs[i].copy[at] = (int8_t)(total > 127 ? 127 : total < -128 ? -128 : total);
        jobs[i].result[at] = jobs[i].copy[at];
    }
    return 0;
}

int32_t toy_add(int32_t instance, const int8_t *a, const int8_t *b, int8_t *sum, int32_t count,
    void *scratch)
{
    if (jobs[instance].length != 0) {
        return 76; /* it is still at work */
    }
    jobs[instance].one = a;
    jobs[instance].other = b;
    jobs[instance].result = sum;
    jobs[instance].length = count;
    jobs[instance].copy = scratch;
    return START;
}

int32_t toy_wait(int32_t instance)
{
    int32_t status = WAIT;
    jobs[instance].length = 0;
    return status;
}
"""
MANY_FORMS = {
    "lazy": MANY.replace("START", "0").replace("WAIT", "work(instance)"),
    "eager": MANY.replace("START", "work(instance)").replace(
        "WAIT", "jobs[instance].copy[0] == jobs[instance].result[0] ? 0 : 77"
    ),
}


def write_lazy_instances(folder: Path, form: str, instances: int) -> Path:
    """Write the folder of a form with several instances, and return it."""
    toml = changed('arguments = ["input"', 'arguments = ["instance", "input"', TOML_AWAITED)
    device = f"[device]\nregisters = 4\ninstances = {instances}\n\n[[operator]]"
    source = MANY_FORMS[form].replace("INSTANCES", str(instances))
    return write_folder(folder, changed("[[operator]]", device, toml), MANY_HEADER, source)
