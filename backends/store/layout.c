/* SPDX-License-Identifier: MIT */
/* layout.c - see layout.h. */
#include "layout.h"

#include "adsm_scratchpad.h"
#include "base/log.h"

#define PAGE ((uint64_t)4096)

bool adsm_scratchpad_lay_out(const struct adsm_scratchpad_geometry *geometry,
			     struct adsm_scratchpad_layout *ret_layout, char *ret_text, size_t size)
{
	/* Kernels always check four ways; if a set has fewer, the others are never used and have no bytes. */
	const uint64_t lines = (uint64_t)geometry->sets * geometry->ways;
	const uint64_t ways = (uint64_t)geometry->sets *
		(geometry->ways < ADSM_STORE_INLINE_WAYS ? ADSM_STORE_INLINE_WAYS : geometry->ways);
	const uint64_t dirty_words = (geometry->line / geometry->dirty + 63) / 64;
	struct adsm_scratchpad_layout layout = {
		.control = ADSM_SCRATCHPAD_CONTROL,
		.tags = ways * sizeof(struct adsm_store_way),
		.dirty = lines * dirty_words * sizeof(uint64_t),
		.lines = lines * geometry->line,
		.ahead = geometry->prefetch ? ADSM_SCRATCHPAD_STREAMS * (uint64_t)geometry->line : 0,
		.code = geometry->code,
	};
	const uint64_t used = layout.control + layout.tags + layout.dirty + layout.lines + layout.ahead + layout.code;

	layout.stack = used < geometry->size ? (geometry->size - used) & ~(PAGE - 1) : 0;
	if (!layout.stack) {
		adsm_format(ret_text, size, "a local store of %lu bytes is too small for its cache (%u sets x %u ways "
					    "x %u B: %lu of lines, %lu of tags, %lu of dirty bits, %lu of prefetched "
					    "lines), its code buffer (%lu), its control data (%lu) and a page of "
					    "stack: raise ADSM_SCRATCHPAD_SIZE, or lower ADSM_SCRATCHPAD_CACHE or "
					    "ADSM_SCRATCHPAD_CODE", geometry->size, geometry->sets, geometry->ways,
					    geometry->line,
			    layout.lines, layout.tags, layout.dirty, layout.ahead, layout.code, layout.control);
		return false;
	}
	*ret_layout = layout;
	return true;
}

static struct adsm_scratchpad_layout with_pages(const struct adsm_scratchpad_geometry *geometry, uint32_t page,
						uint64_t n)
{
	/* Sets of four ways; and one more set without pages, for kernels whose accesses are counted. */
	const uint64_t n_sets = n / ADSM_STORE_INLINE_WAYS ? n / ADSM_STORE_INLINE_WAYS : 1;
	struct adsm_scratchpad_layout layout = {
		.control = ADSM_SCRATCHPAD_CONTROL,
		.tags = (n_sets + 1) * ADSM_STORE_INLINE_WAYS * sizeof(struct adsm_store_way),
		.dirty = n * sizeof(uint64_t),
		.lines = n * page,
		.code = geometry->code,
	};
	const uint64_t used = layout.control + layout.tags + layout.dirty + layout.lines + layout.code;

	layout.stack = used < geometry->size ? (geometry->size - used) & ~(PAGE - 1) : 0;
	return layout;
}

bool adsm_scratchpad_lay_out_task(const struct adsm_scratchpad_geometry *geometry,
				  const struct adsm_scratchpad_task *task, struct adsm_scratchpad_layout *ret_layout,
				  char *ret_text, size_t size)
{
	struct adsm_scratchpad_layout layout = with_pages(geometry, task->page, task->n_pages ? task->n_pages : 1);

	for (uint64_t n = 2; !task->n_pages; n *= 2) {
		const struct adsm_scratchpad_layout more = with_pages(geometry, task->page, n);

		/* If the store is as large as its code buffer, a quarter of the rest is 0, too. */
		if (!more.stack || more.stack < (geometry->size - geometry->code) / 4)
			break;
		layout = more;
	}
	if (layout.stack < ADSM_SCRATCHPAD_SERVICE) {
		adsm_format(ret_text, size, "a local store of %lu bytes is too small for %lu pages of %u bytes, its "
			    "code buffer (%lu) and %u bytes of stack: raise ADSM_SCRATCHPAD_SIZE, or lower "
			    "ADSM_TASK_PAGE, ADSM_TASK_PAGES or ADSM_SCRATCHPAD_CODE", geometry->size,
			    layout.lines / task->page, task->page, layout.code, ADSM_SCRATCHPAD_SERVICE);
		return false;
	}
	*ret_layout = layout;
	return true;
}

struct adsm_scratchpad_overlays adsm_scratchpad_setting(unsigned i)
{
	return (struct adsm_scratchpad_overlays){ .buffers = 1u << i / 4, .policy = i / 2 % 2, .victim = i % 2 };
}

/* From a quarter of the own line size to four times as many; the same for ways. */
#define LINES 5
#define WAYS 5
#define N_SHAPES (LINES * WAYS)

/* *ret_n = n * 2^by / 4. Returns false if that is not a whole number, or not in the range. */
static bool scale(uint32_t n, unsigned by, uint32_t min, uint32_t max, uint32_t *ret_n)
{
	const uint64_t scaled = (uint64_t)n << by;

	*ret_n = (uint32_t)(scaled / 4);
	return scaled % 4 == 0 && *ret_n >= min && *ret_n <= max;
}

static bool shape(const struct adsm_scratchpad_geometry *own, unsigned i, struct adsm_scratchpad_geometry *other)
{
	const uint64_t size = (uint64_t)own->sets * own->ways * own->line;

	if (!scale(own->line, i % LINES, ADSM_SCRATCHPAD_MIN_LINE, ADSM_SCRATCHPAD_MAX_LINE, &other->line) ||
	    !scale(own->ways, i / LINES, 1, ADSM_SCRATCHPAD_MAX_WAYS, &other->ways))
		return false;
	other->sets = (uint32_t)(size / ((uint64_t)other->ways * other->line));
	return other->sets && other->sets <= ADSM_SCRATCHPAD_MAX_SETS &&
		(other->line != own->line || other->ways != own->ways);
}

bool adsm_scratchpad_other(const struct adsm_scratchpad_geometry *own, unsigned i,
			   struct adsm_scratchpad_geometry *ret_other)
{
	struct adsm_scratchpad_layout layout;
	char text[512];

	*ret_other = *own;
	switch (i) {
	case N_SHAPES:
		ret_other->prefetch = 0;
		return own->prefetch;
	case N_SHAPES + 1:
		ret_other->dirty = 1;
		return own->dirty > 1;
	case ADSM_SCRATCHPAD_OTHERS - 1:
		return true;
	default:
		return shape(own, i, ret_other) && adsm_scratchpad_lay_out(ret_other, &layout, text, sizeof(text));
	}
}

_Static_assert(N_SHAPES + 3 == ADSM_SCRATCHPAD_OTHERS, "other shapes, fetching, dirty bits, and the own one");
