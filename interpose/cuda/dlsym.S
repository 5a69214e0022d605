/* SPDX-License-Identifier: MIT */
/*
 * dlsym.S - dlsym() for the whole process, and yet not there: whoever asks for RTLD_NEXT or RTLD_DEFAULT is told by the
 * return address, so that the real one gets the caller's arguments and the caller's return address. Only a name that
 * begins as those of CUDA's driver do (cu[A-Z]) is shown to adsm_dlsym_answer() before: what it returns is the answer,
 * where it returns anything.
 */
	.text
	.globl	dlsym
	.hidden	adsm_dlsym_answer
	.hidden	adsm_dlsym_find
	.hidden	adsm_dlsym_real
	.type	dlsym, %function
	.p2align 4

#if defined(__x86_64__)

#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

dlsym:
	.cfi_startproc
	_CET_ENDBR
	cmpb	$'c', (%rsi)
	jne	1f
	cmpb	$'u', 1(%rsi)
	jne	1f
	movzbl	2(%rsi), %eax
	subl	$'A', %eax
	cmpl	$25, %eax
	ja	1f
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	adsm_dlsym_answer
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jne	3f
1:	movq	adsm_dlsym_real(%rip), %rax
	testq	%rax, %rax
	je	2f
	jmp	*%rax
2:	pushq	%rdi			/* before the constructors */
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	adsm_dlsym_find
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
3:	ret
	.cfi_endproc

#elif defined(__aarch64__)

dlsym:
	.cfi_startproc
	hint	#34			/* bti c */
	ldrb	w2, [x1]
	cmp	w2, #'c'
	b.ne	1f
	ldrb	w2, [x1, #1]
	cmp	w2, #'u'
	b.ne	1f
	ldrb	w2, [x1, #2]
	sub	w2, w2, #'A'
	cmp	w2, #25
	b.hi	1f
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x0, x1, [sp, #16]
	bl	adsm_dlsym_answer
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	cbnz	x16, 3f
1:	adrp	x16, adsm_dlsym_real
	ldr	x16, [x16, #:lo12:adsm_dlsym_real]
	cbz	x16, 2f
	br	x16
2:	stp	x29, x30, [sp, #-32]!	/* before the constructors */
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x0, x1, [sp, #16]
	bl	adsm_dlsym_find
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	br	x16
3:	mov	x0, x16
	ret
	.cfi_endproc

#else
#error "dlsym() has to be written for this processor"
#endif

	.size	dlsym, . - dlsym
	.section .note.GNU-stack, "", %progbits
