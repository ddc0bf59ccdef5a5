/* Loads a word before and after code whose counts are known: see test_counting.py. */
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word 0x30001000
    .word reset + 1

    .text
    .global reset, again, leaf, skipped, constant
    .thumb_func
reset:
    ldr r4, =MARK
    ldr r5, =constant
    ldr r0, [r4]
    movs r1, #5
again:
    ldr r2, [r5]
    subs r1, #1
    bne again
    bl leaf
    cmp r1, #0
    beq passed
skipped:
    nop
passed:
    push {r1}
    ldr r0, [r4]
    ldr r0, =0x20
    ldr r1, =done
    bkpt 0xab
    b .

    .ltorg
    /* An instruction across the border of two of QEMU's pages ends a block before it. */
    .org 0x2fc
    .thumb_func
leaf:
    nop
    ldrb.w r3, [sp]
    bx lr

    .balign 4
done:
    .word 0x20026, 0
constant:
    .word 7
