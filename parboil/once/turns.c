/* SPDX-License-Identifier: MIT */
/* turns.c - the forms of a pipeline take turns, so that they see the same machine; what is told is medians. */
#include "pipelines.h"

#include <stdio.h>
#include <stdlib.h>

const char *const form_names[N_FORMS] = { "threads", "once", "calls", "copies" };

void turn_starts(struct turn *turn)
{
	turn->start_ms = now_ms();
}

void turn_has_input(struct turn *turn)
{
	turn->input_ms = now_ms() - turn->start_ms;
}

void turn_ends(struct turn *turn)
{
	turn->runtime_ms = now_ms() - turn->start_ms;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static struct spread spread_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return (struct spread){ values[n / 4], n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
				values[n - 1 - n / 4] };
}

void take_turns(const struct settings *settings, run_turn *const runs[N_FORMS], void *pipeline,
		struct figures ret_figures[N_FORMS], double *ret_chain_ms)
{
	static double runtime[N_FORMS][MAX_REPEAT], input[N_FORMS][MAX_REPEAT], pure[N_FORMS][MAX_REPEAT];
	static double chain[MAX_REPEAT];
	const size_t repeat = (size_t)settings->repeat;

	for (size_t r = 0; r <= repeat; r++) {
		/* What the first round has measured, the second overwrites. */
		const size_t at = r ? r - 1 : 0;

		if (ret_chain_ms)
			chain[at] = wake_chain_ms();
		for (enum form f = 0; f < N_FORMS; f++) {
			struct turn turn = { .form = f };

			if (!settings->forms[f])
				continue;
			runs[f](pipeline, &turn);
			free_all();
			runtime[f][at] = turn.runtime_ms;
			input[f][at] = turn.input_ms;
			pure[f][at] = turn.runtime_ms - turn.input_ms;
		}
	}
	for (int f = 0; f < N_FORMS; f++)
		if (settings->forms[f])
			ret_figures[f] = (struct figures){ spread_of(runtime[f], repeat), spread_of(input[f], repeat),
							   spread_of(pure[f], repeat) };
	if (ret_chain_ms)
		*ret_chain_ms = spread_of(chain, repeat).median;
}

void print_turns(const struct settings *settings, const char *what, const struct figures figures[N_FORMS])
{
	printf("%s: all right; medians of %d turns, and quartiles\n", what, settings->repeat);
	printf("%-8s %11s %11s %11s %11s %9s\n", "form", "runtime ms", "low", "high", "input ms", "to once");
	for (int f = 0; f < N_FORMS; f++) {
		const struct figures *of = &figures[f];

		if (!settings->forms[f])
			continue;
		printf("%-8s %11.3f %11.3f %11.3f %11.3f", form_names[f], of->runtime.median, of->runtime.low,
		       of->runtime.high, of->input.median);
		if (settings->forms[FORM_ONCE])
			printf(" %9.3f\n", of->runtime.median / figures[FORM_ONCE].runtime.median);
		else
			printf(" %9s\n", "-");
	}
}
