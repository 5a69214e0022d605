/* SPDX-License-Identifier: MIT */
/* spaces_variables.c - see spaces_variables.h. */
#include "spaces_variables.h"

#include <stdio.h>
#include <string.h>

#include "spaces_flow.h"

#define DEPTH 16			/* steps from a pointer to its variable */

static bool has_tasks;

static bool starts(LLVMValueRef value, const char *prefix)
{
	size_t size;

	return !strncmp(LLVMGetValueName2(value, &size), prefix, strlen(prefix));
}

void variables_begin(LLVMModuleRef module)
{
	has_tasks = false;
	for (LLVMValueRef function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function))
		has_tasks = has_tasks || (!LLVMIsDeclaration(function) && starts(function, "adsm_task_"));
}

/* Does the name begin as the library's own? A static variable of a kernel is "adsm_body_KERNEL.NAME". */
static bool is_reserved(LLVMValueRef global)
{
	size_t size;

	return starts(global, "adsm_") && !strchr(LLVMGetValueName2(global, &size), '.') &&
		!starts(global, "adsm_variable_");
}

bool is_variable(LLVMValueRef global)
{
	return !has_tasks && LLVMIsAGlobalVariable(global) && !LLVMIsDeclaration(global) &&
		!LLVMIsGlobalConstant(global) && !LLVMIsThreadLocal(global) &&
		!LLVMGetPointerAddressSpace(LLVMTypeOf(global)) && !starts(global, "llvm.") &&
		!is_reserved(global);
}

/* Add an element to an array of pointers. Memory is never freed. */
static void add_pointer(LLVMValueRef **array, unsigned *n, LLVMValueRef element)
{
	LLVMTypeRef type = LLVMPointerType(LLVMInt8Type(), 0);
	LLVMValueRef *longer = spaces_array(*n + 1, sizeof(*longer));

	memcpy(longer, *array, *n * sizeof(*longer));
	longer[(*n)++] = LLVMGetPointerAddressSpace(LLVMTypeOf(element)) ? LLVMConstAddrSpaceCast(element, type) :
		LLVMConstBitCast(element, type);
	*array = longer;
}

void variables_keep(LLVMModuleRef module)
{
	static const char list[] = "llvm.compiler.used";
	LLVMValueRef old = LLVMGetNamedGlobal(module, list), *kept = spaces_array(0, sizeof(*kept)), new;
	unsigned n = 0;

	variables_begin(module);
	for (int i = 0; old && i < LLVMGetNumOperands(LLVMGetInitializer(old)); i++)
		add_pointer(&kept, &n, LLVMGetOperand(LLVMGetInitializer(old), (unsigned)i));
	for (LLVMValueRef global = LLVMGetFirstGlobal(module); global; global = LLVMGetNextGlobal(global))
		if (is_variable(global) ||
		    (LLVMGetPointerAddressSpace(LLVMTypeOf(global)) && !LLVMIsDeclaration(global)))
			add_pointer(&kept, &n, global);
	if (old)
		LLVMDeleteGlobal(old);
	if (!n)
		return;
	new = LLVMAddGlobal(module, LLVMArrayType(LLVMPointerType(LLVMInt8Type(), 0), n), list);
	LLVMSetInitializer(new, LLVMConstArray(LLVMPointerType(LLVMInt8Type(), 0), kept, n));
	LLVMSetLinkage(new, LLVMAppendingLinkage);
	LLVMSetSection(new, "llvm.metadata");
}

static bool is_copied(LLVMValueRef call, LLVMValueRef value)
{
	LLVMValueRef called = LLVMGetCalledValue(call);

	return LLVMIsAFunction(called) && (starts(called, "llvm.memcpy.") || starts(called, "llvm.memmove.")) &&
		LLVMGetOperand(call, 0) != value && LLVMConstIntGetZExtValue(LLVMGetOperand(call, 3)) == 0;
}

/* Is the memory at @value only read? */
static bool is_read(LLVMValueRef value, int depth)
{
	bool read = depth;

	for (LLVMUseRef use = LLVMGetFirstUse(value); use && read; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (LLVMIsAGlobalVariable(user))
			read = starts(user, "llvm.");
		else if (LLVMIsAConstantArray(user) || LLVMIsAGetElementPtrInst(user) || LLVMIsABitCastInst(user) ||
			 LLVMIsAPHINode(user) || LLVMIsASelectInst(user))
			read = is_read(user, depth - 1);
		else if (LLVMIsAConstantExpr(user))
			read = LLVMGetConstOpcode(user) != LLVMPtrToInt && is_read(user, depth - 1);
		else if (LLVMIsALoadInst(user))
			read = !LLVMGetVolatile(user) && LLVMGetOrdering(user) == LLVMAtomicOrderingNotAtomic;
		else
			read = LLVMIsAICmpInst(user) || (LLVMIsACallInst(user) && is_copied(user, value));
	}
	return read;
}

void variables_find_constants(LLVMModuleRef module)
{
	for (LLVMValueRef global = LLVMGetFirstGlobal(module); global; global = LLVMGetNextGlobal(global))
		if (is_variable(global) && LLVMGetLinkage(global) == LLVMInternalLinkage && is_read(global, DEPTH))
			LLVMSetGlobalConstant(global, true);
}

/* @phis: those that the search is in, @n of them. */
static LLVMValueRef find(LLVMValueRef pointer, LLVMValueRef *phis, unsigned n)
{
	LLVMValueRef found = NULL;
	unsigned n_values = 2;
	LLVMOpcode opcode;

	if (LLVMIsAGlobalVariable(pointer))
		return is_variable(pointer) ? pointer : NULL;
	if (n == DEPTH || (!LLVMIsAInstruction(pointer) && !LLVMIsAConstantExpr(pointer)))
		return NULL;
	opcode = LLVMIsAInstruction(pointer) ? LLVMGetInstructionOpcode(pointer) : LLVMGetConstOpcode(pointer);
	phis[n] = pointer;
	if (opcode == LLVMGetElementPtr || opcode == LLVMBitCast)
		return find(LLVMGetOperand(pointer, 0), phis, n + 1);
	if (opcode == LLVMPHI)
		n_values = LLVMCountIncoming(pointer);
	else if (opcode != LLVMSelect)
		return NULL;
	/* All values must be addresses of variables. */
	for (unsigned i = 0; i < n_values; i++) {
		LLVMValueRef value = opcode == LLVMPHI ? LLVMGetIncomingValue(pointer, i) :
			LLVMGetOperand(pointer, i + 1), one;
		bool inside = false;

		for (unsigned k = 0; k <= n; k++)
			inside = inside || phis[k] == value;
		if (inside)
			continue;
		one = find(value, phis, n + 1);
		if (!one && !(LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMGetElementPtr &&
			      LLVMGetOperand(value, 0) == pointer))
			return NULL;
		found = found ? found : one;
	}
	return found;
}

LLVMValueRef variable_of(LLVMValueRef pointer)
{
	LLVMValueRef phis[DEPTH];

	return LLVMGetTypeKind(LLVMTypeOf(pointer)) == LLVMPointerTypeKind ? find(pointer, phis, 0) : NULL;
}

/* A function of LLVM that accesses memory, or says something about it. */
static bool is_access(LLVMValueRef at)
{
	static const char *const names[] = { "llvm.memcpy", "llvm.memmove", "llvm.memset", "llvm.prefetch",
					     "llvm.lifetime", "llvm.assume" };
	LLVMValueRef called = LLVMGetCalledValue(at);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && LLVMIsAFunction(called); i++)
		if (starts(called, names[i]))
			return true;
	return false;
}

static bool may_use(LLVMValueRef at, unsigned operand)
{
	switch (LLVMGetInstructionOpcode(at)) {
	case LLVMLoad: case LLVMGetElementPtr: case LLVMBitCast: case LLVMICmp:
		return true;
	case LLVMAtomicRMW: case LLVMAtomicCmpXchg:
		return operand == 0;
	case LLVMStore:
		return operand == 1;
	case LLVMCall:
		return is_access(at);
	case LLVMPHI: case LLVMSelect:
		return variable_of(at);
	default:
		return false;
	}
}

/* The variable whose address is in a constant, however it is computed. */
static LLVMValueRef variable_in(LLVMValueRef value, int depth)
{
	LLVMValueRef found = NULL;

	if (LLVMIsAGlobalVariable(value))
		return is_variable(value) ? value : NULL;
	if (!LLVMIsAConstant(value) || LLVMIsAGlobalValue(value) || !depth)
		return NULL;
	for (int i = 0; i < LLVMGetNumOperands(value) && !found; i++)
		found = variable_in(LLVMGetOperand(value, (unsigned)i), depth - 1);
	return found;
}

LLVMValueRef variable_escapes(LLVMValueRef at)
{
	for (int i = 0; i < LLVMGetNumOperands(at); i++) {
		LLVMValueRef value = LLVMGetOperand(at, (unsigned)i), variable = variable_of(value);

		if (variable ? !may_use(at, (unsigned)i) : (variable = variable_in(value, DEPTH)) != NULL)
			return variable;
	}
	return NULL;
}

const char *variable_name(LLVMValueRef variable)
{
	static const char body[] = "adsm_body_";	/* before a kernel's name */
	size_t size;
	const char *name = LLVMGetValueName2(variable, &size);

	return name + (starts(variable, body) ? strlen(body) : 0);
}

unsigned variables_check(LLVMModuleRef module)
{
	unsigned n = 0;

	for (LLVMValueRef global = LLVMGetFirstGlobal(module); global; global = LLVMGetNextGlobal(global)) {
		LLVMValueRef value = starts(global, "llvm.") || is_reserved(global) ? NULL : LLVMGetInitializer(global);
		LLVMValueRef variable = value ? variable_in(value, DEPTH) : NULL;

		if (!variable)
			continue;
		fprintf(stderr, "adsmcc: the address of '%s' is in the initial value of '%s': " SPACES_NO_POINTERS
			"\n", variable_name(variable), variable_name(global));
		n++;
	}
	return n;
}

void place_variable(LLVMModuleRef module, LLVMValueRef variable)
{
	char name[256];
	LLVMValueRef new;
	size_t size;

	snprintf(name, sizeof(name), "adsm_variable_%s", LLVMGetValueName2(variable, &size));
	/* A new variable, because a variable that was static keeps properties of that. */
	new = LLVMAddGlobal(module, LLVMGlobalGetValueType(variable), name);
	LLVMSetInitializer(new, LLVMGetInitializer(variable));
	LLVMSetAlignment(new, LLVMGetAlignment(variable));
	LLVMSetSection(new, "adsm_variables_");
	LLVMReplaceAllUsesWith(variable, new);
	LLVMDeleteGlobal(variable);
}
