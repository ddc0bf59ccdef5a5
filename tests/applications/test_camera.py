"""The image application's camera.c on this machine: who owns which buffer, and the data cache."""

import subprocess
from pathlib import Path

import jinja2
import pytest

from tests import ROOT
from tests.support.needs import needs_gcc

IMAGE = ROOT / "templates" / "apps" / "image"
PROGRAM = """
#include "camera.h"
#include "cache.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static uint8_t *filling;
static const void *invalidated;
static unsigned frames;

void cache_invalidate(const void *start, size_t bytes)
{
    assert((uintptr_t)start % CACHE_LINE_BYTES == 0 && bytes % CACHE_LINE_BYTES == 0);
    assert(bytes >= CAMERA_BUFFER_BYTES);
    invalidated = start;
}
void cache_clean(const void *start, size_t bytes) { (void)start; (void)bytes; }
bool camera_dma_init(void) { return true; }
void camera_dma_start(uint8_t *buffer)
{
    assert(invalidated == buffer); /* or its lines could be written over the frame */
    filling = buffer;
}
bool camera_dma_wait(const volatile bool *is_ready)
{
    assert(!*is_ready);
    if (frames == 5) return false;
    memset(filling, (int)++frames, CAMERA_BUFFER_BYTES);
    camera_buffer_ready(); /* as an interrupt would */
    return *is_ready;
}

int main(void)
{
    const uint8_t *frame, *last = NULL;
    unsigned seen = 0;

    assert(camera_start());
    while ((frame = camera_next()) != NULL) {
        assert(filling != frame);     /* the camera has the other one */
        assert(invalidated == frame); /* before it is read */
        assert(frame != last && frame[0] == ++seen && frame[CAMERA_BUFFER_BYTES - 1] == seen);
        memset(filling, 99, CAMERA_BUFFER_BYTES); /* what a camera does while we work */
        assert(frame[0] == seen);
        last = frame;
    }
    printf("%u frames\\n", seen);
    return 0;
}
"""


@needs_gcc
@pytest.mark.parametrize("feed", [None, {"rows": 5}])
def test_the_camera_fills_one_buffer_while_the_other_is_in_use(
    feed: dict[str, int] | None, tmp_path: Path
) -> None:
    shape = {"networks": [{"inputs": [{"shape": (1, 5, 7, 3)}], "feed": feed}]}
    header = jinja2.Template((IMAGE / "camera.h").read_text(), trim_blocks=True).render(shape)
    (tmp_path / "camera.h").write_text(header)
    (tmp_path / "cache.h").write_text(
        "#include <stddef.h>\n#include <stdint.h>\n#define CACHE_LINE_BYTES 32\n"
        "void cache_invalidate(const void *start, size_t bytes);\n"
        "void cache_clean(const void *start, size_t bytes);\n"
    )
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "camera.c").write_text((IMAGE / "camera.c").read_text())
    words = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "camera.c", "main.c"]
    subprocess.run([*words, "-fsanitize=address,undefined"], cwd=tmp_path, check=True)
    done = subprocess.run(["./a.out"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "5 frames\n"
