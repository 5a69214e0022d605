/* SPDX-License-Identifier: MIT */
/* form.c - see form.h. */
#include "form.h"

#include <stdio.h>
#include <string.h>

enum adsm_ptx_type adsm_ptx_unsigned(uint32_t size)
{
	return size == 1 ? ADSM_PTX_u8 : size == 2 ? ADSM_PTX_u16 : size == 4 ? ADSM_PTX_u32 :
	       size == 8 ? ADSM_PTX_u64 : size == 16 ? ADSM_PTX_b128 : ADSM_PTX_NO_TYPE;
}

enum adsm_ptx_type adsm_ptx_signed(uint32_t size)
{
	return size == 1 ? ADSM_PTX_s8 : size == 2 ? ADSM_PTX_s16 : size == 4 ? ADSM_PTX_s32 :
	       size == 8 ? ADSM_PTX_s64 : ADSM_PTX_NO_TYPE;
}

/* Is the word of @size bytes one of the words that @separator divides? */
static bool among(const char *words, char separator, const char *word, size_t size)
{
	while (*words) {
		const char *end = strchr(words, separator);
		const size_t length = end ? (size_t)(end - words) : strlen(words);

		if (length == size && !memcmp(words, word, size))
			return true;
		words += length + (end != NULL);
	}
	return false;
}

const char *adsm_ptx_one_of(const struct adsm_ptx_instruction *instruction, const char *words)
{
	for (uint32_t i = 0; i < instruction->n_modifiers; i++)
		if (among(words, '|', instruction->modifiers[i], strlen(instruction->modifiers[i])))
			return instruction->modifiers[i];
	return NULL;
}

void adsm_ptx_full_name(const struct adsm_ptx_instruction *instruction, char *text, size_t size)
{
	size_t used = 0;

	used += (size_t)snprintf(text, size, "%s", instruction->opcode);
	for (uint32_t i = 0; i < instruction->n_modifiers && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, ".%s", instruction->modifiers[i]);
}

static bool is_type(const char *word)
{
	for (int type = 1; type < ADSM_PTX_N_TYPES; type++)
		if (!strcmp(word, adsm_ptx_type_name((enum adsm_ptx_type)type)))
			return true;
	return false;
}

/* Hints about caches, of the first and the second level, change nothing. */
static bool is_hint(const char *word)
{
	return !strncmp(word, "L1::", 4) || !strncmp(word, "L2::", 4);
}

/* Copy the next word of @words, which is cut if it is too long. Returns what follows it; NULL: there is no more. */
static const char *next_word(const char *words, char *word, size_t size)
{
	size_t n = 0;

	while (*words == ' ')
		words++;
	if (!*words)
		return NULL;
	for (; *words && *words != ' '; words++)
		if (n + 1 < size)
			word[n++] = *words;
	word[n] = '\0';
	return words;
}

static bool types_fit(const struct adsm_ptx_form *form, const struct adsm_ptx_instruction *instruction)
{
	char name[64];
	size_t used = 0;

	if (!form->types[0])
		return !instruction->n_types;
	name[0] = '\0';
	for (uint32_t i = 0; i < instruction->n_types && used < sizeof(name); i++)
		used += (size_t)snprintf(name + used, sizeof(name) - used, "%s%s", i ? "." : "",
					 adsm_ptx_type_name(instruction->types[i]));
	return among(form->types, ' ', name, strlen(name));
}

static bool modifiers_fit(const struct adsm_ptx_form *form, const struct adsm_ptx_instruction *instruction)
{
	const bool has_hints = strchr(form->modifiers, '~') != NULL;
	char word[128];
	uint32_t n = 0, found = 0;

	for (uint32_t i = 0; i < instruction->n_modifiers; i++)
		n += !is_type(instruction->modifiers[i]) && !(has_hints && is_hint(instruction->modifiers[i]));
	for (const char *at = next_word(form->modifiers, word, sizeof(word)); at;
	     at = next_word(at, word, sizeof(word))) {
		const bool optional = word[0] == '?' || word[0] == '~';
		const bool there = adsm_ptx_one_of(instruction, word + optional) != NULL;

		if (!there && !optional)
			return false;
		found += there;
	}
	return n == found;
}

/* The modifier that stands for $r. */
static const char *chosen(const struct adsm_ptx_form *form, const struct adsm_ptx_instruction *instruction)
{
	char word[128];

	for (const char *at = next_word(form->modifiers, word, sizeof(word)); at;
	     at = next_word(at, word, sizeof(word))) {
		const char *found;

		if (!strchr(word, '|'))
			continue;
		found = adsm_ptx_one_of(instruction, word + (word[0] == '?'));
		if (found)
			return found;
	}
	return "rn";
}

enum adsm_ptx_type adsm_ptx_letter_type(struct adsm_ptx_writer *writer,
					const struct adsm_ptx_instruction *instruction, char letter)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const uint32_t size = adsm_ptx_size(type);

	switch (letter) {
	case 'u': return adsm_ptx_unsigned(size);
	case 'w': return ADSM_PTX_u32;
	case 'i': return ADSM_PTX_s32;
	case 'p': return ADSM_PTX_pred;
	case 'x': return instruction->types[0];
	case 'X': return adsm_ptx_unsigned(adsm_ptx_size(instruction->types[0]));
	case 'W': return adsm_ptx_is_signed(type) ? adsm_ptx_signed(2 * size) : adsm_ptx_unsigned(2 * size);
	case 'h':
	case 0: return type;
	}
	adsm_ptx_refuse(writer, "%s: a form of it is wrong", instruction->opcode);
}

/* What .ftz does to values of a type; NULL: nothing. */
static const char *flush_of(const struct adsm_ptx_instruction *instruction, enum adsm_ptx_type type)
{
	if (!adsm_ptx_has(instruction, "ftz"))
		return NULL;
	switch (type) {
	case ADSM_PTX_f32: return "ptx_flush(";
	case ADSM_PTX_f16: return "ptx_flush_f16(";
	case ADSM_PTX_f16x2: return "ptx_flush_f16x2(";
	case ADSM_PTX_bf16: return "ptx_flush_bf16(";
	case ADSM_PTX_bf16x2: return "ptx_flush_bf16x2(";
	default: return NULL;
	}
}

static const char *saturation_of(const struct adsm_ptx_instruction *instruction, enum adsm_ptx_type type)
{
	if (!adsm_ptx_has(instruction, "sat"))
		return NULL;
	return type == ADSM_PTX_f32 ? "ptx_sat_f32(" : type == ADSM_PTX_f64 ? "ptx_sat_f64(" :
	       type == ADSM_PTX_f16 ? "ptx_sat_f16(" : type == ADSM_PTX_f16x2 ? "ptx_sat_f16x2(" : NULL;
}

static const char *print_operand(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
				 const char *text)
{
	const uint32_t index = (uint32_t)(*text++ - '0');
	enum adsm_ptx_type type;
	const char *flush;
	bool half;
	char letter = 0;

	if (*text && strchr("uwipxWXh", *text))
		letter = *text++;
	if (index >= instruction->n)
		adsm_ptx_refuse(writer, "%s has %u operands, and needs %u at least", instruction->opcode,
				instruction->n, index + 1);
	type = adsm_ptx_letter_type(writer, instruction, letter);
	flush = flush_of(instruction, type);
	half = letter == 'h' && (type == ADSM_PTX_f16 || type == ADSM_PTX_bf16);
	if (half)
		adsm_ptx_print(writer, "ptx_f32_of_%s(", adsm_ptx_type_name(type));
	adsm_ptx_print(writer, "%s", flush ? flush : "");
	adsm_ptx_read(writer, &instruction->operands[index], type);
	adsm_ptx_print(writer, "%s%s", flush ? ")" : "", half ? ")" : "");
	return text;
}

static void print_text(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		       const char *text, const char *rounding)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const uint32_t size = adsm_ptx_size(type);

	while (*text) {
		const size_t plain = strcspn(text, "$");

		adsm_ptx_print(writer, "%.*s", (int)plain, text);
		text += plain;
		if (!*text++)
			break;
		if (*text >= '1' && *text <= '9') {
			text = print_operand(writer, instruction, text);
			continue;
		}
		switch (*text++) {
		case 't': adsm_ptx_print(writer, "%s", adsm_ptx_type_name(type)); break;
		case 'x': adsm_ptx_print(writer, "%s", adsm_ptx_type_name(instruction->types[0])); break;
		case 'U': adsm_ptx_print(writer, "%s", adsm_ptx_c_type(adsm_ptx_unsigned(size))); break;
		case 'D':
			adsm_ptx_print(writer, "%s", size == 8 && adsm_ptx_is_signed(type) ? "__int128" :
				       size == 8 ? "unsigned __int128" :
				       adsm_ptx_c_type(adsm_ptx_letter_type(writer, instruction, 'W')));
			break;
		case 'E':
			adsm_ptx_print(writer, "%s", size == 8 ? "unsigned __int128" :
				       adsm_ptx_c_type(adsm_ptx_unsigned(2 * size)));
			break;
		case 'B': adsm_ptx_print(writer, "%u", 8 * size); break;
		case 'r': adsm_ptx_print(writer, "%s", rounding); break;
		default: adsm_ptx_refuse(writer, "%s: a form of it is wrong", instruction->opcode);
		}
	}
}

void adsm_ptx_expression(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			 const char *text)
{
	print_text(writer, instruction, text, "rn");
}

static void assign(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction, char result,
		   const char *text, const char *rounding)
{
	const enum adsm_ptx_type type = adsm_ptx_letter_type(writer, instruction, result);
	const char *flush = flush_of(instruction, type), *saturation = saturation_of(instruction, type);

	if (!instruction->n)
		adsm_ptx_refuse(writer, "%s has no operands", instruction->opcode);
	adsm_ptx_begin(writer, &instruction->operands[0], type);
	adsm_ptx_print(writer, "%s%s", saturation ? saturation : "", flush ? flush : "");
	print_text(writer, instruction, text, rounding);
	adsm_ptx_print(writer, "%s%s", flush ? ")" : "", saturation ? ")" : "");
	adsm_ptx_end(writer, &instruction->operands[0], type);
}

void adsm_ptx_assign(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction, char result,
		     const char *text)
{
	assign(writer, instruction, result, text, "rn");
}

/* Append what a form's words look like in PTX: {.sat}, .{rn,rz}. */
static size_t print_words(const struct adsm_ptx_form *form, char *text, size_t size)
{
	char word[128];
	size_t used = 0;

	for (const char *at = next_word(form->modifiers, word, sizeof(word)); at && used < size;
	     at = next_word(at, word, sizeof(word))) {
		bool optional, several;

		if (word[0] == '~')
			strcpy(word, "?L1::...|L2::...");
		optional = word[0] == '?';
		several = strchr(word, '|') != NULL;
		for (char *c = word; *c; c++)
			if (*c == '|')
				*c = ',';
		used += (size_t)snprintf(text + used, size - used, "%s.%s%s%s%s",
					 optional ? "{" : "", several ? "(" : "",
					 word + optional, several ? ")" : "", optional ? "}" : "");
	}
	return used < size ? used : size - 1;
}

size_t adsm_ptx_describe_form(const struct adsm_ptx_form *form, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "%s", form->opcode);

	if (used + 1 < size)
		used += print_words(form, text + used, size - used);
	if (used + 1 < size && form->types[0])
		used += (size_t)snprintf(text + used, size - used, ".(%s)", form->types);
	return used;
}

bool adsm_ptx_form_fits(const struct adsm_ptx_form *form, const struct adsm_ptx_instruction *instruction)
{
	return !strcmp(form->opcode, instruction->opcode) && types_fit(form, instruction) &&
	       modifiers_fit(form, instruction);
}

void adsm_ptx_write_form(struct adsm_ptx_writer *writer, const struct adsm_ptx_form *form,
			 const struct adsm_ptx_instruction *instruction)
{
	if (form->write)
		form->write(writer, instruction);
	else
		assign(writer, instruction, form->result, form->text, chosen(form, instruction));
}
