/* SPDX-License-Identifier: MIT */
/* partition_aarch64.S - the ways through the partition manager, on aarch64. */
#if defined(__aarch64__)
	.text

/*
 * x16: the manager; w17: the symbol; x30: the return address. x0 to x8 may have arguments; vector registers are not
 * touched by what is called. x9 to x17 are nobody's at a call.
 */
	.globl	adsm_partition_enter
	.hidden	adsm_partition_enter
	.type	adsm_partition_enter, %function
	.p2align 4
adsm_partition_enter:
	stp	x29, x30, [sp, #-112]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x16, [sp, #80]
	str	x18, [sp, #96]
	mov	x0, x16
	mov	w1, w17
	mov	x2, x30
	bl	adsm_partition_push
	mov	x17, x0
	ldp	x8, x16, [sp, #80]
	ldr	x18, [sp, #96]
	ldp	x6, x7, [sp, #64]
	ldp	x4, x5, [sp, #48]
	ldp	x2, x3, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldr	x29, [sp], #112
	ldr	x30, [x16]
	br	x17
	.size	adsm_partition_enter, .-adsm_partition_enter

/* x16: the manager. Results are in x0 to x7 and vector registers. */
	.globl	adsm_partition_leave
	.hidden	adsm_partition_leave
	.type	adsm_partition_leave, %function
	.p2align 4
adsm_partition_leave:
	stp	x29, x30, [sp, #-80]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	mov	x0, x16
	bl	adsm_partition_pop
	mov	x16, x0
	ldp	x6, x7, [sp, #64]
	ldp	x4, x5, [sp, #48]
	ldp	x2, x3, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #80
	mov	x30, x16
	ret
	.size	adsm_partition_leave, .-adsm_partition_leave
#endif
	.section .note.GNU-stack, "", %progbits
