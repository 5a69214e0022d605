/* SPDX-License-Identifier: MIT */
/* adsmcc_check.c - what a C compiler would accept in a kernel and a GPU could not run. */
#include "adsmcc_check.h"

#include "adsmcc_tokens.h"

#define error_at_token(i, ...) \
	error_at(tokens[i].file, tokens[i].file_size, tokens[i].line, __VA_ARGS__)

/* ---- checking phases --------------------------------------------------------------------- */

/* Walk over the statement at @i, up to where the next one starts. @breakable: a break in it ends a loop or
 * switch inside the phase. */
static size_t check_breaks(size_t i, bool breakable)
{
	if (is(i, "{")) {
		for (i++; !is_end(i) && !is(i, "}"); )
			i = check_breaks(i, breakable);
		return is_end(i) ? i : i + 1;
	}
	if (is(i, "for") || is(i, "while") || is(i, "switch")) {
		i++;
		return check_breaks(is(i, "(") ? skip_group(i) : i, true);
	}
	if (is(i, "do")) {
		i = check_breaks(i + 1, true);
		if (is(i, "while"))
			i++;
		/* The condition and its semicolon are the rest, as of any expression. */
	} else if (is(i, "if")) {
		i++;
		i = check_breaks(is(i, "(") ? skip_group(i) : i, breakable);
		return is(i, "else") ? check_breaks(i + 1, breakable) : i;
	} else if (is(i, "case") || (tokens[i].word && is(i + 1, ":"))) {
		while (!is_end(i) && !is(i, ":"))
			i++;
		i += !is_end(i);
		return is(i, "}") ? i : check_breaks(i, breakable);
	} else if (is(i, "break") && !breakable) {
		error_at_token(i, "break would leave the ADSM_THREADS phase");
	}
	while (!is_end(i) && !is(i, ";") && !is(i, "}"))
		i = is(i, "(") || is(i, "[") || is(i, "{") ? skip_group(i) : i + 1;
	return is(i, ";") ? i + 1 : i;
}

/* @i is behind ADSM_THREADS. Returns where the phase ends. */
static size_t check_phase(size_t i)
{
	static const char *const outside_only[] = {
		"ADSM_THREADS", "ADSM_BARRIER", "ADSM_SHARED", "ADSM_PRIVATE", "ADSM_KERNEL", "ADSM_KERNEL_MAX",
	};
	size_t end;

	if (!is(i, "{")) {
		error_at_token(i, "ADSM_THREADS must be followed by a body in braces");
		return i;
	}
	end = skip_group(i);
	for (size_t j = i; j < end; j++) {
		if (is(j, "return"))
			error_at_token(j, "return inside an ADSM_THREADS phase (continue ends the thread's phase)");
		if (is(j, "goto"))
			error_at_token(j, "goto inside an ADSM_THREADS phase");
		for (size_t k = 0; k < sizeof(outside_only) / sizeof(outside_only[0]); k++)
			if (is(j, outside_only[k]))
				error_at_token(j, "%s inside an ADSM_THREADS phase", outside_only[k]);
	}
	check_breaks(i, false);
	return end;
}

size_t check_and_enter(struct text *out, const struct text *in)
{
	const char *copied = in->bytes;
	size_t n_kernels = 0, i = 0;

	tokenize(in->bytes);
	while (!is_end(i)) {
		const bool kernel_max = is(i, "ADSM_KERNEL_MAX");
		size_t end;

		if (is(i, "ADSM_THREADS")) {
			i = check_phase(i + 1);
			continue;
		}
		if ((!kernel_max && !is(i, "ADSM_KERNEL")) || !is(i + 1, "(")) {
			i++;
			continue;
		}
		n_kernels++;
		end = skip_group(i + 1);
		if (!is(end, "{")) {
			error_at_token(i, "a kernel must be followed by its body in braces");
			i = end;
			continue;
		}
		text_add(out, copied, (size_t)(tokens[end].start + 1 - copied));
		copied = tokens[end].start + 1;
		text_print(out, " ADSM_ENTER(");
		for (int commas = kernel_max ? 2 : 1; i < end - 1; i++) {
			if (commas <= 0)
				text_print(out, "%.*s ", tokens[i].size, tokens[i].start);
			else if (is(i, ","))
				commas--;
		}
		text_print(out, ")");
		i = end + 1;
	}
	text_add(out, copied, (size_t)(in->bytes + in->size - copied));
	return n_kernels;
}
