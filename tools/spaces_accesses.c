/* SPDX-License-Identifier: MIT */
/*
 * spaces_accesses.c - see spaces_accesses.h. It works with LLVM 14 to 19, with typed and opaque pointers. So addresses
 * are converted to integers where they are used, and values are passed in memory of the stack. The optimiser turns that
 * memory into registers again. Memory is never freed.
 */
#include "spaces_accesses.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>

#include "adsm_scratchpad.h"
#include "spaces_variables.h"

enum { LOCAL = 0, GLOBAL = 1, CONSTANT = 2 };

static LLVMModuleRef module;
static LLVMBuilderRef builder;
static LLVMTargetDataRef layout;
static LLVMTypeRef word;		/* of 64 bits */
static unsigned n_errors;

/* ---- messages */

#define USES_DEEP 4			/* casts and sums that there may be between a pointer and its access */

/* An instruction with a line number that uses @value, or a value computed from it; NULL: none. */
static LLVMValueRef find_use(LLVMValueRef value, int depth)
{
	LLVMValueRef found = NULL;

	for (LLVMUseRef use = LLVMGetFirstUse(value); use && !found; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (LLVMIsAInstruction(user))
			found = LLVMGetDebugLocLine(user) ? user : depth ? find_use(user, depth - 1) : NULL;
	}
	return found;
}

/* An instruction with the line number of @at. The optimiser leaves some instructions without a line. Then those that
 * use the result usually have it. */
static LLVMValueRef find_line(LLVMValueRef at)
{
	LLVMValueRef near = LLVMGetDebugLocLine(at) ? at : find_use(at, USES_DEEP);

	for (LLVMValueRef next = at; next && !near; next = LLVMGetNextInstruction(next))
		near = LLVMGetDebugLocLine(next) ? next : NULL;
	return near ? near : at;
}

/* Report an error at @at, with its line if that is known. */
static void refuse(LLVMValueRef at, const char *format, ...)
{
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(at));
	const unsigned line = LLVMGetDebugLocLine(find_line(at));
	unsigned length = 0;
	const char *file = LLVMGetDebugLocFilename(find_line(at), &length);
	size_t size;
	va_list args;

	n_errors++;
	if (line && file && length)
		fprintf(stderr, "%.*s:%u: error: ", (int)length, file, line);
	else
		fprintf(stderr, "adsmcc: in %s(): ", LLVMGetValueName2(function, &size));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "adsmcc-spaces: %s: %s\n", what, why ? why : "cannot be written");
	exit(1);
}

/* ---- small helpers */

static unsigned space_of(LLVMValueRef pointer)
{
	LLVMTypeRef type = LLVMTypeOf(pointer);

	if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
		type = LLVMGetElementType(type);
	return LLVMGetTypeKind(type) == LLVMPointerTypeKind ? LLVMGetPointerAddressSpace(type) : LOCAL;
}

static bool is_far(LLVMValueRef pointer)
{
	const unsigned space = space_of(pointer);

	return space == GLOBAL || space == CONSTANT || variable_of(pointer);
}

static const char *name_of(LLVMValueRef value)
{
	size_t size;

	return LLVMGetValueName2(value, &size);
}

static bool starts(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

static LLVMValueRef number(unsigned long long n)
{
	return LLVMConstInt(word, n, false);
}

static LLVMValueRef address_of(LLVMValueRef pointer)
{
	return LLVMBuildPtrToInt(builder, pointer, word, "");
}

static unsigned long long size_of(LLVMValueRef value)
{
	return LLVMStoreSizeOfType(layout, LLVMTypeOf(value));
}

/* Call adsm_store_@name(). */
static LLVMValueRef call(const char *name, LLVMValueRef *args, unsigned n)
{
	char symbol[64];
	LLVMValueRef function;

	snprintf(symbol, sizeof(symbol), "adsm_store_%s", name);
	function = LLVMGetNamedFunction(module, symbol);
	if (!function)
		fail(symbol, "is not in the module");
	for (unsigned i = 0; i < n; i++) {
		LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(function, i));

		if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
			args[i] = LLVMBuildBitCast(builder, args[i], type, "");
	}
	return LLVMBuildCall2(builder, LLVMGlobalGetValueType(function), function, args, n, "");
}

/* Make a variable on the stack of the function that @at is in. */
static LLVMValueRef room_for(LLVMValueRef at, LLVMTypeRef type)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(LLVMGetInstructionParent(at)));
	LLVMValueRef room;

	LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
	room = LLVMBuildAlloca(builder, type, "");
	LLVMPositionBuilderBefore(builder, at);
	return room;
}

static void replace(LLVMValueRef old, LLVMValueRef new)
{
	if (new)
		LLVMReplaceAllUsesWith(old, new);
	LLVMInstructionEraseFromParent(old);
}

/* Convert a value to a number of 64 bits, and back. NULL: the value's size is not 1, 2, 4 or 8 bytes. */
static LLVMValueRef to_word(LLVMValueRef at, LLVMValueRef value)
{
	const unsigned long long size = size_of(value);
	LLVMValueRef room;

	if (size > 8 || (size & (size - 1)))
		return NULL;
	room = room_for(at, word);
	LLVMBuildStore(builder, number(0), room);
	LLVMBuildStore(builder, value, LLVMBuildBitCast(builder, room, LLVMPointerType(LLVMTypeOf(value), 0), ""));
	return LLVMBuildLoad2(builder, word, room, "");
}

static LLVMValueRef from_word(LLVMValueRef at, LLVMValueRef value, LLVMTypeRef type)
{
	LLVMValueRef room = room_for(at, word);

	LLVMBuildStore(builder, value, room);
	return LLVMBuildLoad2(builder, type, LLVMBuildBitCast(builder, room, LLVMPointerType(type, 0), ""), "");
}

/* ---- accesses */

static const char *sized(const char *verb, unsigned long long size)
{
	static char name[16];

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return NULL;
	snprintf(name, sizeof(name), "%s_%llu", verb, size);
	return name;
}

/* A volatile or atomic access goes to memory directly, not to the cache. */
static bool is_direct(LLVMValueRef at)
{
	return LLVMGetVolatile(at) || LLVMGetOrdering(at) != LLVMAtomicOrderingNotAtomic;
}

/* Operation @op on memory. NULL: the access was reported as an error. */
static LLVMValueRef direct(LLVMValueRef at, enum adsm_store_op op, LLVMValueRef pointer, LLVMTypeRef type,
			   LLVMValueRef value)
{
	const unsigned long long size = LLVMStoreSizeOfType(layout, type);
	LLVMValueRef args[] = { number(op), address_of(pointer), number(size), value ? to_word(at, value) : number(0) };

	if (size > 8 || (size & (size - 1)) || !args[3]) {
		refuse(at, "a volatile or atomic access of %llu bytes: scratchpad supports 1, 2, 4 and 8 bytes", size);
		return NULL;
	}
	return call("atomic", args, 4);
}

static void do_load(LLVMValueRef at)
{
	LLVMValueRef pointer = LLVMGetOperand(at, 0), room;
	LLVMTypeRef type = LLVMTypeOf(at);
	const unsigned long long size = LLVMStoreSizeOfType(layout, type);
	const char *name = sized("get", size);

	if (is_direct(at)) {
		LLVMValueRef old = direct(at, ADSM_STORE_LOAD, pointer, type, NULL);

		if (old)
			replace(at, from_word(at, old, type));
		return;
	}
	room = room_for(at, type);
	if (name)
		call(name, (LLVMValueRef[]){ address_of(pointer), room }, 2);
	else
		call("read", (LLVMValueRef[]){ address_of(pointer), room, number(size) }, 3);
	replace(at, LLVMBuildLoad2(builder, type, room, ""));
}

static void do_store(LLVMValueRef at)
{
	LLVMValueRef value = LLVMGetOperand(at, 0), pointer = LLVMGetOperand(at, 1), room;
	const unsigned long long size = size_of(value);
	const char *name = sized("put", size);

	if (space_of(pointer) == CONSTANT) {
		refuse(at, "a store to a constant");
		return;
	}
	if (is_direct(at)) {
		if (direct(at, ADSM_STORE_STORE, pointer, LLVMTypeOf(value), value))
			replace(at, NULL);
		return;
	}
	room = room_for(at, LLVMTypeOf(value));
	LLVMBuildStore(builder, value, room);
	if (name)
		call(name, (LLVMValueRef[]){ address_of(pointer), room }, 2);
	else
		call("write", (LLVMValueRef[]){ address_of(pointer), room, number(size) }, 3);
	replace(at, NULL);
}

static void do_atomic(LLVMValueRef at)
{
	static const struct { LLVMAtomicRMWBinOp theirs; enum adsm_store_op ours; } ops[] = {
		{ LLVMAtomicRMWBinOpXchg, ADSM_STORE_XCHG }, { LLVMAtomicRMWBinOpAdd, ADSM_STORE_ADD },
		{ LLVMAtomicRMWBinOpSub, ADSM_STORE_SUB }, { LLVMAtomicRMWBinOpAnd, ADSM_STORE_AND },
		{ LLVMAtomicRMWBinOpNand, ADSM_STORE_NAND }, { LLVMAtomicRMWBinOpOr, ADSM_STORE_OR },
		{ LLVMAtomicRMWBinOpXor, ADSM_STORE_XOR }, { LLVMAtomicRMWBinOpMax, ADSM_STORE_MAX },
		{ LLVMAtomicRMWBinOpMin, ADSM_STORE_MIN }, { LLVMAtomicRMWBinOpUMax, ADSM_STORE_UMAX },
		{ LLVMAtomicRMWBinOpUMin, ADSM_STORE_UMIN }, { LLVMAtomicRMWBinOpFAdd, ADSM_STORE_FADD },
		{ LLVMAtomicRMWBinOpFSub, ADSM_STORE_FSUB },
	};
	LLVMTypeRef type = LLVMTypeOf(at);
	size_t i = 0;
	LLVMValueRef old;

	while (i < sizeof(ops) / sizeof(ops[0]) && ops[i].theirs != LLVMGetAtomicRMWBinOp(at))
		i++;
	if (i == sizeof(ops) / sizeof(ops[0])) {
		refuse(at, "an atomic operation that scratchpad does not support");
		return;
	}
	old = direct(at, ops[i].ours, LLVMGetOperand(at, 0), type, LLVMGetOperand(at, 1));
	if (old)
		replace(at, from_word(at, old, type));
}

static void do_exchange(LLVMValueRef at)
{
	LLVMValueRef expected = LLVMGetOperand(at, 1), pair, old, same;
	LLVMValueRef args[] = { address_of(LLVMGetOperand(at, 0)), number(size_of(expected)), to_word(at, expected),
				to_word(at, LLVMGetOperand(at, 2)) };

	if (!args[2] || !args[3]) {
		refuse(at, "an atomic exchange of %llu bytes: scratchpad supports 1, 2, 4 and 8 bytes",
		       size_of(expected));
		return;
	}
	old = call("exchange", args, 4);
	same = LLVMBuildICmp(builder, LLVMIntEQ, old, args[2], "");
	pair = LLVMBuildInsertValue(builder, LLVMGetUndef(LLVMTypeOf(at)),
				    from_word(at, old, LLVMTypeOf(expected)), 0, "");
	replace(at, LLVMBuildInsertValue(builder, pair, same, 1, ""));
}

/* llvm.memcpy, llvm.memmove, llvm.memset */
static void do_bytes(LLVMValueRef at, bool is_fill)
{
	LLVMValueRef to = LLVMGetOperand(at, 0), from = LLVMGetOperand(at, 1);
	LLVMValueRef size = LLVMBuildZExtOrBitCast(builder, LLVMGetOperand(at, 2), word, "");

	if (space_of(to) == CONSTANT) {
		refuse(at, "a store to a constant");
		return;
	}
	if (LLVMConstIntGetZExtValue(LLVMGetOperand(at, 3))) {
		refuse(at, "a volatile access to a structure or an array: scratchpad supports 1, 2, 4 and 8 bytes");
		return;
	}
	if (is_fill)
		call("fill", (LLVMValueRef[]){ address_of(to), LLVMBuildZExt(builder, from, word, ""), size }, 3);
	else if (!is_far(to))
		call("read", (LLVMValueRef[]){ address_of(from), to, size }, 3);
	else if (!is_far(from))
		call("write", (LLVMValueRef[]){ address_of(to), from, size }, 3);
	else
		call("move", (LLVMValueRef[]){ address_of(to), address_of(from), size }, 3);
	replace(at, NULL);
}

static void do_call(LLVMValueRef at)
{
	LLVMValueRef called = LLVMGetCalledValue(at);
	const char *name = LLVMIsAFunction(called) ? name_of(called) : "";
	bool far = false;

	for (int i = 0; i < LLVMGetNumOperands(at) - 1; i++)
		far = far || is_far(LLVMGetOperand(at, (unsigned)i));
	if (!far)
		return;
	if (starts(name, "llvm.memcpy.p") || starts(name, "llvm.memmove.p") || starts(name, "llvm.memcpy.inline.p"))
		do_bytes(at, false);
	else if (starts(name, "llvm.memset.p") || starts(name, "llvm.memset.inline.p"))
		do_bytes(at, true);
	else if (starts(name, "llvm.prefetch") || starts(name, "llvm.assume") || starts(name, "llvm.lifetime"))
		replace(at, NULL);
	else if (starts(name, "llvm.ptrmask"))
		return;		/* no access: it masks bits of a pointer */
	else if (LLVMIsAInlineAsm(called))
		refuse(at, "assembly with a pointer to device memory, which instructions cannot access");
	else if (LLVMIsAFunction(called) && LLVMIsDeclaration(called))
		refuse(at, "%s() is not a function of this module: it cannot use a pointer to device memory", name);
}

/* ---- casts between address spaces, in instructions and in constants */

static bool casts_away(LLVMValueRef value, int depth)
{
	if (!LLVMIsAConstantExpr(value) || depth > 8)
		return false;
	if (LLVMGetConstOpcode(value) == LLVMAddrSpaceCast && is_far(value) != is_far(LLVMGetOperand(value, 0)))
		return true;
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (casts_away(LLVMGetOperand(value, (unsigned)i), depth + 1))
			return true;
	return false;
}

static void check_casts(LLVMValueRef at)
{
	bool casts = LLVMGetInstructionOpcode(at) == LLVMAddrSpaceCast && is_far(at) != is_far(LLVMGetOperand(at, 0));

	for (int i = 0; i < LLVMGetNumOperands(at); i++)
		casts = casts || casts_away(LLVMGetOperand(at, (unsigned)i), 0);
	if (casts)
		refuse(at, "a cast between a pointer to device memory and a pointer to the core's own memory: declare "
		       "pointers into objects ADSM_SPACE_GLOBAL, and pointers into constants and tables "
		       "ADSM_SPACE_CONST, also in variables and parameters");
}

static void check_variables(LLVMValueRef at)
{
	LLVMValueRef variable = variable_escapes(at);

	if (variable)
		refuse(at, "the address of '%s' is used: " SPACES_NO_POINTERS, variable_name(variable));
}

static void transform(LLVMValueRef at)
{
	LLVMPositionBuilderBefore(builder, at);
	check_casts(at);
	check_variables(at);
	switch (LLVMGetInstructionOpcode(at)) {
	case LLVMLoad:
		if (is_far(LLVMGetOperand(at, 0)))
			do_load(at);
		break;
	case LLVMStore:
		if (is_far(LLVMGetOperand(at, 1)))
			do_store(at);
		break;
	case LLVMAtomicRMW:
		if (is_far(LLVMGetOperand(at, 0)))
			do_atomic(at);
		break;
	case LLVMAtomicCmpXchg:
		if (is_far(LLVMGetOperand(at, 0)))
			do_exchange(at);
		break;
	case LLVMAlloca:
		/* The account of a local store does not know its size. */
		if (!LLVMIsConstant(LLVMGetOperand(at, 0)) ||
		    LLVMGetInstructionParent(at) != LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(
			    LLVMGetInstructionParent(at))))
			refuse(at, "an array of variable size, or alloca(): scratchpad supports arrays whose size is a "
			       "constant");
		break;
	case LLVMFence:
		call("fence", NULL, 0);
		break;
	case LLVMCall:
		do_call(at);
		break;
	case LLVMVAArg: case LLVMInvoke: case LLVMCallBr:
		refuse(at, "an instruction that scratchpad does not support");
		break;
	default:
		break;
	}
}

/* ---- functions */

/* A function of adsm_kernel_services.h, which calls the device. The stack size of such a function is known. */
static bool is_service(LLVMValueRef function)
{
	return starts(name_of(function), "adsm_services_");
}

static bool is_ours(LLVMValueRef function)
{
	return starts(name_of(function), "adsm_store_") || is_service(function);
}

/* Remove attributes about memory accesses: those that the optimiser has found are wrong for the new calls. */
static void forget_memory(LLVMValueRef function, bool is_call)
{
	static const char *const names[] = {
		"memory", "readnone", "readonly", "writeonly", "argmemonly", "inaccessiblememonly",
		"inaccessiblemem_or_argmemonly", "speculatable", "nosync",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));

		if (kind && is_call)
			LLVMRemoveCallSiteEnumAttribute(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
		else if (kind)
			LLVMRemoveEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
	}
}

static void note_call(FILE *calls, LLVMValueRef caller, LLVMValueRef at)
{
	LLVMValueRef called = LLVMGetCalledValue(at);

	if (LLVMIsAInlineAsm(called))
		return;
	if (!LLVMIsAFunction(called))
		fprintf(calls, "%s *\n", name_of(caller));
	else if (LLVMIsDeclaration(called) || !is_ours(called) || is_service(called))
		fprintf(calls, "%s %s\n", name_of(caller), name_of(called));
	if (!LLVMIsAFunction(called) || !LLVMIsDeclaration(called))
		forget_memory(at, true);
}

static void do_function(LLVMValueRef function, FILE *calls)
{
	LLVMValueRef *all = NULL;
	size_t n = 0;

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block)) {
		for (LLVMValueRef at = LLVMGetFirstInstruction(block); at; at = LLVMGetNextInstruction(at)) {
			all = realloc(all, (n + 1) * sizeof(*all));
			if (!all)
				fail("a function", "no memory");
			all[n++] = at;
			if (LLVMIsACallInst(at))
				note_call(calls, function, at);
		}
	}
	for (size_t i = 0; i < n; i++)
		transform(all[i]);
	forget_memory(function, false);
	free(all);
}

/* Give a table a name with external linkage: code in partitions gets its address from the code in one piece. */
static void place_table(LLVMValueRef table)
{
	char name[256];
	LLVMValueRef new;

	snprintf(name, sizeof(name), "adsm_table_%s", name_of(table));
	/* A new variable, because a variable that was static keeps properties of that. */
	new = LLVMAddGlobalInAddressSpace(module, LLVMGlobalGetValueType(table), name, CONSTANT);
	LLVMSetInitializer(new, LLVMGetInitializer(table));
	LLVMSetAlignment(new, LLVMGetAlignment(table));
	LLVMSetGlobalConstant(new, true);
	LLVMSetSection(new, "adsm_tables");
	LLVMReplaceAllUsesWith(table, new);
	LLVMDeleteGlobal(table);
}

/* Tables are in device memory, in a section separate from the data in a core's local store. */
static void place_globals(void)
{
	const LLVMValueRef last = LLVMGetLastGlobal(module);
	LLVMValueRef global, next = LLVMGetFirstGlobal(module);

	do {
		global = next;
		next = global ? LLVMGetNextGlobal(global) : NULL;
		if (global && space_of(global) == GLOBAL)
			fail(name_of(global), "a variable in device memory, which modules cannot have");
		if (global && space_of(global) == CONSTANT && !LLVMIsDeclaration(global))
			place_table(global);
		else if (global && is_variable(global))
			place_variable(module, global);
	} while (global != last);
}

/* Write the lines of the source that the function has. */
static void note_lines(FILE *lines, LLVMValueRef function)
{
	LLVMMetadataRef program = LLVMGetSubprogram(function), scope;
	unsigned first = program ? LLVMDISubprogramGetLine(program) : 0, last = first, size = 0;
	const char *file = program && LLVMDIScopeGetFile(program) ?
		LLVMDIFileGetFilename(LLVMDIScopeGetFile(program), &size) : "";

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef at = LLVMGetFirstInstruction(block); at; at = LLVMGetNextInstruction(at)) {
			scope = LLVMInstructionGetDebugLoc(at);
			while (scope && LLVMDILocationGetInlinedAt(scope))
				scope = LLVMDILocationGetInlinedAt(scope);
			if (scope && LLVMDILocationGetLine(scope) > last)
				last = LLVMDILocationGetLine(scope);
		}
	fprintf(lines, "%s %u %u %.*s\n", name_of(function), first, last, (int)size, file);
}

bool replace_accesses(LLVMModuleRef its_module, const char *calls_path, const char *lines_path)
{
	FILE *calls = fopen(calls_path, "w"), *lines = fopen(lines_path, "w");

	if (!calls || !lines)
		fail(calls ? lines_path : calls_path, NULL);
	module = its_module;
	builder = LLVMCreateBuilder();
	layout = LLVMGetModuleDataLayout(module);
	word = LLVMInt64Type();
	variables_begin(module);
	variables_find_constants(module);
	for (LLVMValueRef function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function))
		if (!LLVMIsDeclaration(function) && !is_ours(function)) {
			note_lines(lines, function);
			do_function(function, calls);
		}
	n_errors += variables_check(module);
	if (n_errors)
		return false;
	place_globals();
	LLVMStripModuleDebugInfo(module);
	for (LLVMValueRef function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function))
		if (!LLVMIsDeclaration(function) && is_ours(function)) {
			LLVMSetVisibility(function, LLVMDefaultVisibility);
			LLVMSetLinkage(function, LLVMInternalLinkage);
		}
	if (fclose(calls) || fclose(lines))
		fail(calls_path, NULL);
	return true;
}
