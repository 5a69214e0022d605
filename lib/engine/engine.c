/* SPDX-License-Identifier: MIT */
/* engine/engine.c - chooses among the fault engines. */
#include "engine/engine.h"

#include <errno.h>
#include <string.h>

#include "engine/list.h"

static const struct adsm_engine *engines[8] = { ADSM_ENGINES };	/* NULL ends the list */
static char names[128] = ADSM_ENGINE_NAMES;
static unsigned wanted;			/* ADSM_ENGINE: an index */
const struct adsm_engine *adsm_engine;

struct adsm_option adsm_engine_rows[] = {
	{ "ENGINE", "sigsegv", names,
	  "how the library detects accesses to closed pages",
	  ADSM_FIELD(wanted), adsm_parse_index, .class = "general", .expert = true },
	{ 0 }
};

void adsm_engine_choose(void)
{
	adsm_engine = engines[wanted];
}

int adsm_engine_add(const struct adsm_engine *engine)
{
	size_t n = 0;

	while (engines[n])
		n++;
	if (n == sizeof(engines) / sizeof(engines[0]) - 1 ||
	    strlen(names) + strlen(engine->name) + sizeof(", ") > sizeof(names))
		return -ENOSPC;
	engines[n] = engine;
	strcat(strcat(names, ", "), engine->name);
	return 0;
}
