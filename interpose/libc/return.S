/* SPDX-License-Identifier: MIT */
/*
 * return.S - signal handlers return to this code. It makes the system call that restores the interrupted code. Before
 * that, a mask that the handler has written into its context is converted to the kernel's form: see hide_in_context()
 * in proc.c. The unwind information is as in libc's own code of this kind: the interrupted registers are in the frame
 * that the kernel made.
 */
	.text
	.globl	adsm_signal_return
	.hidden	adsm_signal_return
	.type	adsm_signal_return, %function
	.p2align 4

/* Register @reg is saved at @offset of the frame; the number is in two bytes of seven bits. */
	.macro	saved base, reg, offset
	.cfi_escape 0x10, \reg, 3, \base, (\offset & 0x7f) | 0x80, \offset >> 7
	.endm

#define SEGV 0x400			/* SIGSEGV's bit */
#define STAND_IN 0x8000			/* SIGSTKFLT's */
#define WRITTEN 0x40500			/* SIGSEGV's, SIGKILL's and SIGSTOP's */

#if defined(__x86_64__)

#define MASK 296			/* uc_sigmask of the ucontext_t at the stack pointer */
#define BASE 0x77			/* DW_OP_breg7, the stack pointer */

	.cfi_startproc simple
	.cfi_signal_frame
	/* The caller's stack pointer is the one saved at 160. */
	.cfi_escape 0x0f, 4, BASE, (160 & 0x7f) | 0x80, 160 >> 7, 0x06
	saved	BASE, 8, 40		/* r8 to r15 */
	saved	BASE, 9, 48
	saved	BASE, 10, 56
	saved	BASE, 11, 64
	saved	BASE, 12, 72
	saved	BASE, 13, 80
	saved	BASE, 14, 88
	saved	BASE, 15, 96
	saved	BASE, 5, 104		/* rdi */
	saved	BASE, 4, 112		/* rsi */
	saved	BASE, 6, 120		/* rbp */
	saved	BASE, 3, 128		/* rbx */
	saved	BASE, 1, 136		/* rdx */
	saved	BASE, 0, 144		/* rax */
	saved	BASE, 2, 152		/* rcx */
	saved	BASE, 7, 160		/* rsp */
	saved	BASE, 16, 168		/* rip */
	nop				/* a return address is looked up one byte before it */
adsm_signal_return:
	movl	MASK(%rsp), %eax
	testl	$WRITTEN, %eax
	jz	2f
	movl	%eax, %edx
	andl	$~(WRITTEN | STAND_IN), %eax
	testl	$SEGV, %edx
	jz	1f
	orl	$STAND_IN, %eax
1:	movl	%eax, MASK(%rsp)
2:	movl	$15, %eax		/* rt_sigreturn */
	syscall
	.cfi_endproc

#elif defined(__aarch64__)

#define MASK 168			/* uc_sigmask, behind 128 bytes of siginfo_t */
#define REGS 312			/* x0 to x30, sp and pc */
#define BASE 0x8f			/* DW_OP_breg31, the stack pointer */

	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, BASE, ((REGS + 248) & 0x7f) | 0x80, (REGS + 248) >> 7, 0x06
	.set	i, 0
	.rept	32
	saved	BASE, i, REGS + 8 * i
	.set	i, i + 1
	.endr
	saved	BASE, 32, REGS + 256
	.cfi_return_column 32
	nop
adsm_signal_return:
	ldr	w0, [sp, MASK]
	mov	w1, WRITTEN & 0xffff
	movk	w1, WRITTEN >> 16, lsl 16
	tst	w0, w1
	b.eq	2f
	orr	w1, w1, STAND_IN
	bic	w2, w0, w1
	tst	w0, SEGV
	b.eq	1f
	orr	w2, w2, STAND_IN
1:	str	w2, [sp, MASK]
2:	mov	x8, 139			/* rt_sigreturn */
	svc	0
	.cfi_endproc

#endif
	.size	adsm_signal_return, . - adsm_signal_return
	.section .note.GNU-stack,"",%progbits
