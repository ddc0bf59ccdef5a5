/* The boot ROM of the RP2350 looks for this block in the first 4 KiB: a program for its Arm cores, in
 * secure state, whose vectors are at the start of the flash. */
__attribute__((section(".image_def"), used)) static const uint32_t image_def[] = {
    0xFFFFDED3u, /* start of a block */
    0x10210142u, /* IMAGE_TYPE, one word: executable, secure, Arm, RP2350 */
    0x000001FFu, /* last item: one word precedes it */
    0x00000000u, /* the next block of the loop is this one */
    0xAB123579u, /* end */
};
