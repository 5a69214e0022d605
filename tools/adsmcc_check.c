/* SPDX-License-Identifier: MIT */
/* adsmcc_check.c - finds code in kernels that a C compiler accepts, but that a GPU cannot run. */

#include "adsmcc_source.h"

#define error_at_token(i, ...) \
	error_at(tokens[i].file, tokens[i].file_size, tokens[i].line, __VA_ARGS__)

/* ---- checking phases --------------------------------------------------------------------- */

/* Check the statement at @i. Returns the start of the next one. @breakable: it is in a loop or switch inside the phase,
 * so a break does not leave the phase. */
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
		/* The condition and its semicolon are skipped below, as an expression. */
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

/* Check the phase whose ADSM_THREADS is before @i. Returns its end. */
static size_t check_phase(size_t i)
{
	static const char *const outside_only[] = {
		"ADSM_THREADS", "ADSM_BARRIER", "ADSM_SHARED", "ADSM_PRIVATE", "ADSM_KERNEL", "ADSM_KERNEL_MAX",
		"ADSM_GET", "ADSM_FRESH", "ADSM_SET", "ADSM_ROOM", "ADSM_EMPTY",
	};
	size_t end;

	if (!is(i, "{")) {
		error_at_token(i, "ADSM_THREADS must be followed by a body in braces");
		return i;
	}
	end = skip_group(i);
	for (size_t j = i; j < end; j++) {
		if (is(j, "return"))
			error_at_token(j,
				       "return inside an ADSM_THREADS phase (use continue to end the thread's phase)");
		if (is(j, "goto"))
			error_at_token(j, "goto inside an ADSM_THREADS phase");
		for (size_t k = 0; k < sizeof(outside_only) / sizeof(outside_only[0]); k++)
			if (is(j, outside_only[k]))
				error_at_token(j, "%s inside an ADSM_THREADS phase", outside_only[k]);
	}
	check_breaks(i, false);
	return end;
}

/* ---- checking bodies --------------------------------------------------------------------- */

/* Report each of these words in the body from @i to @end. @what: the body, for messages. */
static void check_words(size_t i, size_t end, const char *const *words, size_t n, const char *what)
{
	for (; i < end; i++)
		for (size_t k = 0; k < n; k++)
			if (is(i, words[k]))
				error_at_token(i, "%s in %s", words[k], what);
}

static void check_kernel(size_t i)
{
	static const char *const words[] = {
		"ADSM_WORKER", "ADSM_N_WORKERS", "ADSM_LOCK", "ADSM_UNLOCK", "ADSM_ALL_BARRIER", "ADSM_FLUSH",
		"ADSM_FLUSH_ALL", "ADSM_TASK_ALLOC", "ADSM_TASK_FREE", "ADSM_FLAG_SET", "ADSM_FLAG_WAIT",
		"ADSM_FLAG_CLEAR",
	};

	check_words(i, skip_group(i), words, sizeof(words) / sizeof(words[0]), "a kernel: only tasks (ADSM_TASK) can "
		    "use it");
}

static void check_task(size_t i)
{
	static const char *const words[] = {
		"ADSM_THREADS", "ADSM_BARRIER", "ADSM_SHARED", "ADSM_PRIVATE", "ADSM_MY",
	};

	check_words(i, skip_group(i), words, sizeof(words) / sizeof(words[0]),
		    "a task: only kernels (ADSM_KERNEL) can use it");
}

/* ---- the text ---------------------------------------------------------------------------- */

static struct text *text;		/* the output */
static const char *copied;		/* the input is copied up to here */

static void copy_to(const char *p)
{
	text_add(text, copied, (size_t)(p - copied));
	copied = p;
}

/* Add a line for the preprocessor. The text behind it has the line number of token @i. */
static void put_line(const char *line, size_t i)
{
	text_print(text, "\n%s\n#line %d \"%.*s\"\n", line, tokens[i].line, tokens[i].file_size, tokens[i].file);
}

/* The kernel at @i. @commas: the number of the macro's arguments before the parameters. Returns the token behind it. */
static size_t enter_kernel(size_t i, int commas)
{
	const size_t end = skip_group(i + 1);

	if (!is(end, "{")) {
		error_at_token(i, "a kernel must be followed by its body in braces");
		return end;
	}
	check_kernel(end);
	copy_to(tokens[end].start + 1);
	text_print(text, " ADSM_ENTER(");
	for (; i < end - 1; i++) {
		if (commas <= 0)
			text_print(text, "%.*s ", tokens[i].size, tokens[i].start);
		else if (is(i, ","))
			commas--;
	}
	text_print(text, ")");
	return end + 1;
}

/* The tasks of a COMIC++ program. A declaration may follow a label there, which not every compiler accepts. So a ";" is
 * added behind each label. */
static size_t enter_comic(size_t i)
{
	const size_t end = skip_group(i + 1);

	for (bool label = false; i < end; i++) {
		if (is(i, "case") || is(i, "default"))
			label = true;
		if (!label || !is(i, ":"))
			continue;
		label = false;
		copy_to(tokens[i].start + 1);
		text_print(text, ";");
	}
	return end;
}

/* The task at @i. It is put into #ifdef, because some devices have no tasks. */
static size_t enter_task(size_t i)
{
	const size_t body = skip_group(i + 1), end = is(body, "{") ? skip_group(body) : body;

	if (!is(body, "{")) {
		error_at_token(i, "a task must be followed by its body in braces");
		return end;
	}
	check_task(body);
	copy_to(tokens[i].start);
	put_line("#ifdef ADSM_TASKS", i);
	copy_to(tokens[end - 1].start + tokens[end - 1].size);
	put_line("#endif", end - 1);
	return end;
}

size_t check_and_enter(struct text *out, const struct text *in)
{
	size_t n_kernels = 0, i = 0;

	text = out;
	copied = in->bytes;
	tokenize(in->bytes);
	while (!is_end(i)) {
		const bool kernel_max = is(i, "ADSM_KERNEL_MAX"), task = is(i, "ADSM_TASK");

		if (is(i, "ADSM_THREADS")) {
			i = check_phase(i + 1);
		} else if ((kernel_max || task || is(i, "ADSM_KERNEL")) && is(i + 1, "(")) {
			n_kernels++;
			i = task ? enter_task(i) : enter_kernel(i, kernel_max ? 2 : 1);
		} else if (is(i, "COMIC_PP_ape_main") && is(i + 1, "(")) {
			n_kernels++;
			i = enter_comic(i);
		} else {
			i++;
		}
	}
	copy_to(in->bytes + in->size);
	return n_kernels;
}
