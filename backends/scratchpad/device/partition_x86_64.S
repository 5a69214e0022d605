/* SPDX-License-Identifier: MIT */
/* partition_x86_64.S - the ways through the partition manager, on x86-64. */
#if defined(__x86_64__)
	.text

/*
 * %r11: the manager; on the stack the symbol, which the stub pushed, and the return address. All registers may have
 * arguments, but %r11; vector registers are not touched by what is called. The stack is as it was at the callee's first
 * instruction, since arguments on it must not move: only the return address is another one.
 */
	.globl	adsm_partition_enter
	.hidden	adsm_partition_enter
	.type	adsm_partition_enter, @function
	.p2align 4
adsm_partition_enter:
	pushq	%rax
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%r10
	movq	%r11, %rdi
	movl	64(%rsp), %esi
	movq	72(%rsp), %rdx
	movq	(%r11), %rax
	movq	%rax, 72(%rsp)
	call	adsm_partition_push
	movq	%rax, %r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	popq	%rax
	addq	$8, %rsp
	jmp	*%r11
	.size	adsm_partition_enter, .-adsm_partition_enter

/* %r11: the manager. Results are in %rax, %rdx and vector registers. */
	.globl	adsm_partition_leave
	.hidden	adsm_partition_leave
	.type	adsm_partition_leave, @function
	.p2align 4
adsm_partition_leave:
	pushq	%rax
	pushq	%rdx
	movq	%r11, %rdi
	call	adsm_partition_pop
	movq	%rax, %r11
	popq	%rdx
	popq	%rax
	jmp	*%r11
	.size	adsm_partition_leave, .-adsm_partition_leave

/*
 * The same, but all registers are saved and restored around the manager's code, as in the first version that the paper
 * on OPELL measures: the 15 general registers, and those of FXSAVE.
 */
	.macro	save_all
	pushq	%rax
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, %rbx
	subq	$512, %rsp
	andq	$-16, %rsp
	fxsave64 (%rsp)
	movq	%r11, %rdi
	.endm

	.macro	restore_all
	movq	%rax, %r11
	fxrstor64 (%rsp)
	movq	%rbx, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	popq	%rax
	.endm

	.globl	adsm_partition_enter_all
	.hidden	adsm_partition_enter_all
	.type	adsm_partition_enter_all, @function
	.p2align 4
adsm_partition_enter_all:
	save_all
	movl	112(%rbx), %esi
	movq	120(%rbx), %rdx
	movq	(%r11), %rax
	movq	%rax, 120(%rbx)
	call	adsm_partition_push
	restore_all
	addq	$8, %rsp
	jmp	*%r11
	.size	adsm_partition_enter_all, .-adsm_partition_enter_all

	.globl	adsm_partition_leave_all
	.hidden	adsm_partition_leave_all
	.type	adsm_partition_leave_all, @function
	.p2align 4
adsm_partition_leave_all:
	save_all
	call	adsm_partition_pop
	restore_all
	jmp	*%r11
	.size	adsm_partition_leave_all, .-adsm_partition_leave_all
#endif
	.section .note.GNU-stack, "", @progbits
