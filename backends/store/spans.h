/* SPDX-License-Identifier: MIT */
/*
 * spans.h - when data was brought to a core during a launch. There is a fixed number of spans of time, each with a
 * count and bytes. When more are needed, all spans become twice as long. Times are ticks of the processor's counter,
 * which one instruction reads: so partition_call.c can use this, too.
 */
#pragma once

#include <stdint.h>

#define ADSM_SPANS 64u			/* maximum for a core and a kind */

struct adsm_spans {
	uint64_t begin, width;		/* ticks: begin of the launch; width of a span */
	uint32_t max;			/* spans, at most ADSM_SPANS */
	uint32_t n;			/* index of the last span with an event, plus 1 */
	struct adsm_spans_one { uint64_t first, last, count, bytes; } v[ADSM_SPANS];	/* count 0: no event */
};

static inline uint64_t adsm_spans_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

static inline void adsm_spans_start(struct adsm_spans *spans, uint32_t max)
{
	spans->begin = adsm_spans_now();
	spans->width = 256;
	spans->max = max < ADSM_SPANS ? max : ADSM_SPANS;
	spans->n = 0;
}

/* Join each two adjacent spans. */
static inline void adsm_spans_fold(struct adsm_spans *spans)
{
	for (uint32_t i = 0; i < spans->n; i += 2) {
		struct adsm_spans_one *to = &spans->v[i / 2];
		const struct adsm_spans_one *a = &spans->v[i], *b = &spans->v[i + 1];
		const uint64_t first = a->count ? a->first : b->first;

		if (i + 1 < spans->n && b->count) {
			to->first = first;
			to->last = b->last;
			to->count = a->count + b->count;
			to->bytes = a->bytes + b->bytes;
		} else {
			*to = *a;
		}
	}
	spans->n = (spans->n + 1) / 2;
	spans->width *= 2;
}

/* Add an event that ended at @last. Events are added in the order of their ends. */
static inline void adsm_spans_add(struct adsm_spans *spans, uint64_t first, uint64_t last, uint64_t bytes)
{
	uint64_t at;
	struct adsm_spans_one *one;

	/* The counters of two processors may differ slightly. */
	first = first < spans->begin ? spans->begin : first;
	last = last < first ? first : last;
	at = (last - spans->begin) / spans->width;
	for (; at >= spans->max; at /= 2)
		adsm_spans_fold(spans);
	for (; spans->n <= at; spans->n++)
		spans->v[spans->n].count = spans->v[spans->n].bytes = 0;
	one = &spans->v[at];
	if (!one->count)
		one->first = first;
	one->last = last;
	one->count++;
	one->bytes += bytes;
}
