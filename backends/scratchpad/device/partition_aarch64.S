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

/*
 * The same, but all registers are saved and restored around the manager's code, as in the first version that the paper
 * on OPELL measures.
 */
	.macro	save_all
	stp	x29, x30, [sp, #-192]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x16, [sp, #80]
	str	x18, [sp, #96]
	stp	x19, x20, [sp, #104]
	stp	x21, x22, [sp, #120]
	stp	x23, x24, [sp, #136]
	stp	x25, x26, [sp, #152]
	stp	x27, x28, [sp, #168]
	sub	sp, sp, #512
	stp	q0, q1, [sp, #0]
	stp	q2, q3, [sp, #32]
	stp	q4, q5, [sp, #64]
	stp	q6, q7, [sp, #96]
	stp	q8, q9, [sp, #128]
	stp	q10, q11, [sp, #160]
	stp	q12, q13, [sp, #192]
	stp	q14, q15, [sp, #224]
	stp	q16, q17, [sp, #256]
	stp	q18, q19, [sp, #288]
	stp	q20, q21, [sp, #320]
	stp	q22, q23, [sp, #352]
	stp	q24, q25, [sp, #384]
	stp	q26, q27, [sp, #416]
	stp	q28, q29, [sp, #448]
	stp	q30, q31, [sp, #480]
	mov	x0, x16
	.endm

	.macro	restore_all
	mov	x17, x0
	ldp	q0, q1, [sp, #0]
	ldp	q2, q3, [sp, #32]
	ldp	q4, q5, [sp, #64]
	ldp	q6, q7, [sp, #96]
	ldp	q8, q9, [sp, #128]
	ldp	q10, q11, [sp, #160]
	ldp	q12, q13, [sp, #192]
	ldp	q14, q15, [sp, #224]
	ldp	q16, q17, [sp, #256]
	ldp	q18, q19, [sp, #288]
	ldp	q20, q21, [sp, #320]
	ldp	q22, q23, [sp, #352]
	ldp	q24, q25, [sp, #384]
	ldp	q26, q27, [sp, #416]
	ldp	q28, q29, [sp, #448]
	ldp	q30, q31, [sp, #480]
	add	sp, sp, #512
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x8, x16, [sp, #80]
	ldr	x18, [sp, #96]
	ldp	x19, x20, [sp, #104]
	ldp	x21, x22, [sp, #120]
	ldp	x23, x24, [sp, #136]
	ldp	x25, x26, [sp, #152]
	ldp	x27, x28, [sp, #168]
	ldr	x29, [sp], #192
	.endm

	.globl	adsm_partition_enter_all
	.hidden	adsm_partition_enter_all
	.type	adsm_partition_enter_all, %function
	.p2align 4
adsm_partition_enter_all:
	save_all
	mov	w1, w17
	mov	x2, x30
	bl	adsm_partition_push
	restore_all
	ldr	x30, [x16]
	br	x17
	.size	adsm_partition_enter_all, .-adsm_partition_enter_all

	.globl	adsm_partition_leave_all
	.hidden	adsm_partition_leave_all
	.type	adsm_partition_leave_all, %function
	.p2align 4
adsm_partition_leave_all:
	save_all
	bl	adsm_partition_pop
	restore_all
	mov	x30, x17
	ret
	.size	adsm_partition_leave_all, .-adsm_partition_leave_all
#endif
	.section .note.GNU-stack, "", %progbits
