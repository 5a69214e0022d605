/* SPDX-License-Identifier: MIT */
/* value.c - operands in C: registers, immediates, special registers, symbols and addresses. */
#include "writer.h"

#include "globals.h"

#include <inttypes.h>
#include <string.h>

/* What C makes of a value. */
enum kind { INTEGER, SINGLE, DOUBLE, PREDICATE };

static enum kind kind_of(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_f32 ? SINGLE : type == ADSM_PTX_f64 ? DOUBLE :
	       type == ADSM_PTX_pred ? PREDICATE : INTEGER;
}

const char *adsm_ptx_c_register(enum adsm_ptx_type type)
{
	switch (kind_of(type)) {
	case SINGLE: return "float";
	case DOUBLE: return "double";
	case PREDICATE: return "uint8_t";
	case INTEGER: break;
	}
	switch (adsm_ptx_size(type)) {
	case 1: return "uint8_t";
	case 2: return "uint16_t";
	case 4: return "uint32_t";
	case 8: return "uint64_t";
	default: return "unsigned __int128";
	}
}

const char *adsm_ptx_c_type(enum adsm_ptx_type type)
{
	switch (type) {
	case ADSM_PTX_s8: return "int8_t";
	case ADSM_PTX_s16: return "int16_t";
	case ADSM_PTX_s32: return "int32_t";
	case ADSM_PTX_s64: return "int64_t";
	default: return adsm_ptx_c_register(type);
	}
}

static enum adsm_ptx_type register_type(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand)
{
	if (operand->reg >= writer->function->n_registers)
		adsm_ptx_refuse(writer, "register %u does not exist", operand->reg);
	return writer->function->registers[operand->reg].type;
}

static const char *opcode_of(const struct adsm_ptx_writer *writer)
{
	return writer->instruction ? writer->instruction->opcode : "an instruction";
}

static _Noreturn void refuse_register(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
				      enum adsm_ptx_type type)
{
	const struct adsm_ptx_register *reg = &writer->function->registers[operand->reg];

	adsm_ptx_refuse(writer, "%s needs a value of type %s, and %s is of type %s", opcode_of(writer),
			adsm_ptx_type_name(type), reg->name, adsm_ptx_type_name(reg->type));
}

static void read_register(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
			  enum adsm_ptx_type type)
{
	const enum adsm_ptx_type own = register_type(writer, operand);
	const enum kind kind = kind_of(type), own_kind = kind_of(own);
	const uint32_t size = adsm_ptx_size(type), own_size = adsm_ptx_size(own), reg = operand->reg;

	if ((kind == PREDICATE) != (own_kind == PREDICATE) || own_size < size ||
	    (own_size != size && (kind != INTEGER || own_kind != INTEGER)))
		refuse_register(writer, operand, type);
	if (kind == PREDICATE)
		adsm_ptx_print(writer, operand->negated ? "!r%u" : "r%u", reg);
	else if (kind == own_kind && !strcmp(adsm_ptx_c_type(type), adsm_ptx_c_register(own)))
		adsm_ptx_print(writer, "r%u", reg);
	else if (kind == INTEGER && own_kind == INTEGER)
		adsm_ptx_print(writer, "((%s)r%u)", adsm_ptx_c_type(type), reg);
	else if (kind == INTEGER)
		adsm_ptx_print(writer, "((%s)ptx_b%u(r%u))", adsm_ptx_c_type(type), 8 * size, reg);
	else
		adsm_ptx_print(writer, "ptx_f%u(r%u)", 8 * size, reg);
}

static void print_integer(struct adsm_ptx_writer *writer, uint64_t bits, enum adsm_ptx_type type)
{
	const uint32_t size = adsm_ptx_size(type);

	if (adsm_ptx_is_signed(type)) {
		const int64_t value = size == 1 ? (int8_t)bits : size == 2 ? (int16_t)bits :
				      size == 4 ? (int32_t)bits : (int64_t)bits;

		/* The least number is no constant in C. */
		if (value == INT64_MIN || value == INT32_MIN)
			adsm_ptx_print(writer, "(%" PRId64 "%s - 1)", value + 1, size == 8 ? "ll" : "");
		else
			adsm_ptx_print(writer, value < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value,
				       size == 8 ? "ll" : "");
	} else {
		const uint64_t value = size >= 8 ? bits : bits & ((UINT64_C(1) << 8 * size) - 1);

		adsm_ptx_print(writer, value > 4096 ? "0x%" PRIx64 "%s" : "%" PRIu64 "%s", value,
			       size >= 8 ? "ull" : "u");
	}
}

/* The hexadecimal constant of a finite number, exactly. Not by printf(), which follows the program's locale. */
static void print_finite(struct adsm_ptx_writer *writer, double value, const char *suffix)
{
	uint64_t bits, fraction;
	int exponent, digits = 13;

	memcpy(&bits, &value, sizeof(bits));
	fraction = bits & 0xfffffffffffff;
	exponent = (int)(bits >> 52 & 0x7ff);
	while (digits && !(fraction & 0xf)) {
		fraction >>= 4;
		digits--;
	}
	adsm_ptx_print(writer, "%s0x%d", bits >> 63 ? "(-" : "", exponent != 0);
	if (digits)
		adsm_ptx_print(writer, ".%0*" PRIx64, digits, fraction);
	adsm_ptx_print(writer, "p%+d%s%s", exponent ? exponent - 1023 : digits ? -1022 : 0, suffix,
		       bits >> 63 ? ")" : "");
}

static void print_single(struct adsm_ptx_writer *writer, uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	if ((bits & 0x7f800000) == 0x7f800000)
		adsm_ptx_print(writer, "ptx_f32(0x%xu)", bits);
	else
		print_finite(writer, (double)value, "f");
}

static void print_double(struct adsm_ptx_writer *writer, uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	if ((bits & 0x7ff0000000000000) == 0x7ff0000000000000)
		adsm_ptx_print(writer, "ptx_f64(0x%" PRIx64 "ull)", bits);
	else
		print_finite(writer, value, "");
}

static void read_immediate(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
			   enum adsm_ptx_type type)
{
	const enum kind kind = kind_of(type);
	const uint32_t size = adsm_ptx_size(type);
	double value;
	float single;
	uint32_t bits;

	if (kind == PREDICATE && operand->kind == ADSM_PTX_OP_INTEGER)
		adsm_ptx_print(writer, "%u", operand->bits != 0);
	else if (kind == INTEGER && operand->kind == ADSM_PTX_OP_INTEGER)
		print_integer(writer, operand->bits, type);
	else if (kind == SINGLE && operand->kind == ADSM_PTX_OP_F32)
		print_single(writer, (uint32_t)operand->bits);
	else if (kind == DOUBLE && operand->kind == ADSM_PTX_OP_F64)
		print_double(writer, operand->bits);
	else if (kind == INTEGER && size == (operand->kind == ADSM_PTX_OP_F32 ? 4 : 8))
		print_integer(writer, operand->bits, type);
	else if (kind == SINGLE && operand->kind == ADSM_PTX_OP_F64) {
		memcpy(&value, &operand->bits, sizeof(value));
		single = (float)value;
		memcpy(&bits, &single, sizeof(bits));
		print_single(writer, bits);
	} else {
		adsm_ptx_refuse(writer, "%s needs a constant of type %s, and there is an %s", opcode_of(writer),
				adsm_ptx_type_name(type), operand->kind == ADSM_PTX_OP_INTEGER ? "integer" :
				operand->kind == ADSM_PTX_OP_F32 ? "f32" : "f64");
	}
}

static const char *special_text(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand)
{
	static const char *const vectors[4][4] = {
		{ "tx", "ty", "tz", "0u" }, { "nx", "ny", "nz", "0u" },
		{ "bx", "by", "bz", "0u" }, { "gx", "gy", "gz", "0u" },
	};

	switch (operand->special) {
	case ADSM_PTX_SPECIAL_tid: return vectors[0][operand->component & 3];
	case ADSM_PTX_SPECIAL_ntid: return vectors[1][operand->component & 3];
	case ADSM_PTX_SPECIAL_ctaid: return vectors[2][operand->component & 3];
	case ADSM_PTX_SPECIAL_nctaid: return vectors[3][operand->component & 3];
	case ADSM_PTX_SPECIAL_laneid: return "(t & 31u)";
	case ADSM_PTX_SPECIAL_warpid: return "(t >> 5)";
	case ADSM_PTX_SPECIAL_nwarpid: return "((nx * ny * nz + 31u) >> 5)";
	case ADSM_PTX_SPECIAL_smid: return "0u";
	case ADSM_PTX_SPECIAL_nsmid: return "1u";
	case ADSM_PTX_SPECIAL_gridid:
		adsm_ptx_refuse(writer, "%%gridid is not supported: kernels do not get the number of their launch");
	case ADSM_PTX_SPECIAL_lanemask_eq: return "(1u << (t & 31u))";
	case ADSM_PTX_SPECIAL_lanemask_le: return "(0xffffffffu >> (31u - (t & 31u)))";
	case ADSM_PTX_SPECIAL_lanemask_lt: return "((1u << (t & 31u)) - 1u)";
	case ADSM_PTX_SPECIAL_lanemask_ge: return "(0xffffffffu << (t & 31u))";
	case ADSM_PTX_SPECIAL_lanemask_gt: return "(0xfffffffeu << (t & 31u))";
	case ADSM_PTX_SPECIAL_clock:
	case ADSM_PTX_SPECIAL_clock64: return "ptx_clock()";
	case ADSM_PTX_SPECIAL_clock_hi: return "(ptx_clock() >> 32)";
	case ADSM_PTX_SPECIAL_globaltimer:
	case ADSM_PTX_SPECIAL_globaltimer_lo: return "k->nanoseconds()";
	case ADSM_PTX_SPECIAL_globaltimer_hi: return "(k->nanoseconds() >> 32)";
	case ADSM_PTX_SPECIAL_dynamic_smem_size: return "k->dynamic_size";
	case ADSM_PTX_SPECIAL_total_smem_size: return "k->shared_size";
	case ADSM_PTX_SPECIAL_warp_size: return "32u";
	case ADSM_PTX_N_SPECIALS: break;
	}
	adsm_ptx_refuse(writer, "this special register is not supported");
}

static void print_variable(struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable);

static uint32_t function_index(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function)
{
	for (uint32_t i = 0; i < writer->module->n_functions; i++)
		if (writer->module->functions[i] == function)
			return i;
	adsm_ptx_refuse(writer, "function %s is not one of the module", function->name);
}

void adsm_ptx_read(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type)
{
	switch (operand->kind) {
	case ADSM_PTX_OP_REGISTER:
		read_register(writer, operand, type);
		return;
	case ADSM_PTX_OP_INTEGER:
	case ADSM_PTX_OP_F32:
	case ADSM_PTX_OP_F64:
		read_immediate(writer, operand, type);
		return;
	case ADSM_PTX_OP_SPECIAL:
		if (kind_of(type) != INTEGER)
			break;
		adsm_ptx_print(writer, "((%s)%s)", adsm_ptx_c_type(type), special_text(writer, operand));
		return;
	case ADSM_PTX_OP_VARIABLE:
		if (kind_of(type) != INTEGER || adsm_ptx_size(type) < 4 ||
		    (adsm_ptx_size(type) == 4 && operand->variable->space != ADSM_PTX_SHARED))
			break;
		if (operand->variable->space == ADSM_PTX_SHARED) {
			const uint64_t offset = writer->shared_offset(writer, operand->variable);

			writer->uses_shared = true;
			print_integer(writer, offset + (uint64_t)operand->offset, type);
			return;
		}
		adsm_ptx_print(writer, "((%s)(uintptr_t)(", adsm_ptx_c_type(type));
		print_variable(writer, operand->variable);
		adsm_ptx_print(writer, " + %" PRId64 "))", operand->offset);
		return;
	case ADSM_PTX_OP_FUNCTION:
		if (kind_of(type) != INTEGER || adsm_ptx_size(type) < 8)
			break;
		adsm_ptx_print(writer, "((%s)PTX_FUNCTION(%u))", adsm_ptx_c_type(type),
			       function_index(writer, operand->function));
		return;
	default:
		break;
	}
	adsm_ptx_refuse(writer, "%s cannot have this operand where it needs a value of type %s", opcode_of(writer),
			adsm_ptx_type_name(type));
}

void adsm_ptx_begin(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type)
{
	const enum kind kind = kind_of(type);
	const uint32_t size = adsm_ptx_size(type);
	enum adsm_ptx_type own;
	enum kind own_kind;
	uint32_t own_size;

	if (operand->kind == ADSM_PTX_OP_SINK) {
		adsm_ptx_print(writer, "(void)(");
		return;
	}
	if (operand->kind != ADSM_PTX_OP_REGISTER)
		adsm_ptx_refuse(writer, "%s writes to a register", opcode_of(writer));
	own = register_type(writer, operand);
	own_kind = kind_of(own);
	own_size = adsm_ptx_size(own);
	if ((kind == PREDICATE) != (own_kind == PREDICATE) || own_size < size ||
	    (own_size != size && own_kind != INTEGER))
		refuse_register(writer, operand, type);
	adsm_ptx_print(writer, "r%u = ", operand->reg);
	if (kind == PREDICATE || (kind == own_kind && kind != INTEGER))
		adsm_ptx_print(writer, "(");
	else if (kind != INTEGER)
		adsm_ptx_print(writer, "ptx_b%u(", 8 * size);
	else if (own_kind != INTEGER)
		adsm_ptx_print(writer, "ptx_f%u(", 8 * size);
	else if (own_size == size)
		adsm_ptx_print(writer, "(");
	else
		adsm_ptx_print(writer, "(%s)(%s)(", adsm_ptx_c_register(own), adsm_ptx_c_type(type));
}

void adsm_ptx_end(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type)
{
	adsm_ptx_print(writer, ");");
}

/* Append the name of the bytes of a variable that has an address, as an expression of type char *. */
static void print_variable(struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable)
{
	const struct adsm_ptx_function *function = writer->function;

	if (variable->space == ADSM_PTX_LOCAL) {
		writer->uses_local = true;
		adsm_ptx_print(writer, "lm + %" PRIu64, writer->local_offset(writer, variable));
		return;
	}
	for (uint32_t i = 0; i < function->n_params; i++) {
		if (&function->params[i] == variable) {
			adsm_ptx_print(writer, "(char *)a%u", i);
			return;
		}
	}
	for (uint32_t i = 0; i < function->n_results; i++) {
		if (&function->results[i] == variable) {
			adsm_ptx_print(writer, "o%u", i);
			return;
		}
	}
	for (uint32_t i = 0; i < function->n_variables; i++) {
		if (function->variables[i] == variable) {
			adsm_ptx_print(writer, "q%u", i);
			return;
		}
	}
	for (uint32_t i = 0; i < writer->module->n_variables; i++) {
		if (writer->module->variables[i] != variable)
			continue;
		if (!adsm_ptx_has_memory(variable))
			adsm_ptx_refuse(writer, variable->is_extern ?
					"variable %.200s is declared, but the module does not define it" :
					"variable %.200s has no memory", variable->name);
		adsm_ptx_print(writer, "(char *)g%u", i);
		return;
	}
	adsm_ptx_refuse(writer, "%s is not a variable of the function or the module", variable->name);
}

static void print_shared(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *base, int64_t offset)
{
	writer->uses_shared = true;
	switch (base->kind) {
	case ADSM_PTX_OP_VARIABLE:
		offset += (int64_t)writer->shared_offset(writer, base->variable) + base->offset;
		break;
	case ADSM_PTX_OP_INTEGER:
		offset += (int64_t)base->bits;
		break;
	default:
		/* Addresses of 32 bits wrap around, those of 64 bits need not. */
		if (adsm_ptx_size(register_type(writer, base)) == 4)
			adsm_ptx_print(writer, "(sh + (uint32_t)(r%u + %" PRId64 "u))", base->reg,
				       offset & INT64_C(0xffffffff));
		else
			adsm_ptx_print(writer, "(sh + (int64_t)r%u + %" PRId64 ")", base->reg, offset);
		return;
	}
	adsm_ptx_print(writer, "(sh + %" PRId64 ")", offset);
}

void adsm_ptx_address(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
		      enum adsm_ptx_space space)
{
	const struct adsm_ptx_operand *base = operand->elements;

	if (operand->kind != ADSM_PTX_OP_MEMORY || operand->n < 1)
		adsm_ptx_refuse(writer, "%s needs an address in brackets", opcode_of(writer));
	if (base->kind == ADSM_PTX_OP_REGISTER && kind_of(register_type(writer, base)) != INTEGER)
		adsm_ptx_refuse(writer, "%s needs an address of type u64, and %s is of type %s", opcode_of(writer),
				writer->function->registers[base->reg].name,
				adsm_ptx_type_name(register_type(writer, base)));
	if (space == ADSM_PTX_SHARED || (base->kind == ADSM_PTX_OP_VARIABLE &&
					 base->variable->space == ADSM_PTX_SHARED)) {
		print_shared(writer, base, operand->offset);
		return;
	}
	switch (base->kind) {
	case ADSM_PTX_OP_REGISTER:
		if (adsm_ptx_size(register_type(writer, base)) != 8)
			adsm_ptx_refuse(writer, "%s needs an address of 64 bits; only shared addresses may have 32",
					opcode_of(writer));
		adsm_ptx_print(writer, "((char *)r%u + %" PRId64 ")", base->reg, operand->offset);
		return;
	case ADSM_PTX_OP_VARIABLE:
		adsm_ptx_print(writer, "(");
		print_variable(writer, base->variable);
		adsm_ptx_print(writer, " + %" PRId64 ")", base->offset + operand->offset);
		return;
	case ADSM_PTX_OP_INTEGER:
		adsm_ptx_print(writer, "((char *)(uintptr_t)0x%" PRIx64 "ull)", base->bits + (uint64_t)operand->offset);
		return;
	default:
		adsm_ptx_refuse(writer, "%s cannot have this address", opcode_of(writer));
	}
}
