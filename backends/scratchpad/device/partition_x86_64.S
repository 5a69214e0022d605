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
#endif
	.section .note.GNU-stack, "", @progbits
