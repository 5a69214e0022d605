/* SPDX-License-Identifier: MIT */
/* page.c - writes the page of a report and a trace, as adsmrun does: page REPORT TRACE OUTPUT */
#include "adsmrun_html.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 4 ? fopen(argv[1], "r") : NULL, *out = in ? fopen(argv[3], "w") : NULL;
	char *report = NULL;
	size_t size = 0;
	int failed;

	if (!out || getdelim(&report, &size, '\0', in) < 0) {
		perror("page");
		return 1;
	}
	failed = html_begin(out) || html_add(out, report, argv[2]) || html_end(out);
	failed |= fclose(out);
	fclose(in);
	free(report);
	return failed;
}
