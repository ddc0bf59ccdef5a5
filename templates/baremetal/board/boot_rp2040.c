/* The second stage of the boot: the boot ROM of the RP2040 copies these 256 bytes to RAM, checks them
 * with the CRC-32 in the last word, and runs them. They make the flash readable as memory, with the
 * command 03h that every flash supports, and continue at the vectors after them:
 *
 *     ldr  r3, =0x18000000   @ SSI
 *     movs r1, #0
 *     str  r1, [r3, #0x08]   @ SSIENR: off
 *     movs r1, #4
 *     str  r1, [r3, #0x14]   @ BAUDR: the system clock / 4
 *     ldr  r1, =0x001f0300
 *     str  r1, [r3, #0x00]   @ CTRLR0: 32 bits a frame, send first, then receive
 *     ldr  r1, =0x03000218
 *     ldr  r0, =0x180000f4
 *     str  r1, [r0]          @ SPI_CTRLR0: command 03h of 8 bits, address of 24 bits
 *     movs r1, #0
 *     str  r1, [r3, #0x04]   @ CTRLR1: one frame a read
 *     movs r1, #1
 *     str  r1, [r3, #0x08]   @ SSIENR: on
 *     ldr  r0, =0x10000100
 *     ldr  r1, =0xe000ed08
 *     str  r0, [r1]          @ VTOR
 *     ldmia r0, {r0, r1}
 *     msr  msp, r0
 *     bx   r1
 */
__attribute__((section(".boot2"), used)) static const uint32_t boot2[64] = {
    0x21004B0Au, 0x21046099u, 0x49096159u, 0x49096019u, 0x60014809u, 0x60592100u,
    0x60992101u, 0x49084807u, 0xC8036008u, 0x8808F380u, 0x00004708u, 0x18000000u,
    0x001F0300u, 0x03000218u, 0x180000F4u, 0x10000100u, 0xE000ED08u, [63] = 0x0AACAA58u,
};
