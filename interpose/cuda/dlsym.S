/* SPDX-License-Identifier: MIT */
/*
 * dlsym.S - the wrapper of dlsym(). The real dlsym() detects the caller from the return address, for RTLD_NEXT and
 * RTLD_DEFAULT. So this code jumps to it, with the caller's arguments and return address. Before that, it calls
 * adsm_dlsym_answer() with the arguments. If the result is not NULL, it is returned instead. There is no wrapper of
 * dlvsym(), because other wrappers of dlsym() find the real one by it.
 */
	.text

#if defined(__x86_64__)

#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

	.macro	keep
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	give_back
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.endm

	.macro	look_up name, answer, find, real
	.globl	\name
	.hidden	\answer
	.hidden	\find
	.hidden	\real
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	_CET_ENDBR
	keep
	call	\answer
	give_back
	testq	%rax, %rax
	jne	3f
	movq	\real(%rip), %rax
	testq	%rax, %rax
	je	2f
	jmp	*%rax
2:	keep				/* called before the constructors have run */
	call	\find
	give_back
	jmp	*%rax
3:	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

#elif defined(__aarch64__)

	.macro	keep
	stp	x29, x30, [sp, #-48]!
	.cfi_adjust_cfa_offset 48
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	.endm

	.macro	give_back
	mov	x16, x0
	ldr	x2, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #48
	.cfi_adjust_cfa_offset -48
	.cfi_restore x29
	.cfi_restore x30
	.endm

	.macro	look_up name, answer, find, real
	.globl	\name
	.hidden	\answer
	.hidden	\find
	.hidden	\real
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34			/* bti c */
	keep
	bl	\answer
	give_back
	cbnz	x16, 3f
	adrp	x16, \real
	ldr	x16, [x16, #:lo12:\real]
	cbz	x16, 2f
	br	x16
2:	keep				/* called before the constructors have run */
	bl	\find
	give_back
	br	x16
3:	mov	x0, x16
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

#else
#error "dlsym() has to be written for this processor"
#endif

	look_up	dlsym, adsm_dlsym_answer, adsm_dlsym_find, adsm_dlsym_real

	.section .note.GNU-stack, "", %progbits
