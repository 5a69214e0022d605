/* SPDX-License-Identifier: MIT */
/* copy.c - the copy engine of a device process, and the model of a link that is slower than memory. */
#include "copy.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LINK_SPIN_NS 100000	/* a sleeping thread may wake up this late */
#define STREAM_SIZE ((size_t)16 << 10)

/* Reserve the link for @size bytes. Returns the time when the link has transferred them. */
static uint64_t link_take(struct adsm_process_copy_queue *queue, size_t size)
{
	uint64_t cost = queue->link.latency_ns;
	uint64_t now = adsm_os_now_ns(), busy = atomic_load(&queue->link_busy), end;

	if (queue->link.bandwidth)
		cost += (uint64_t)((double)size * 1e9 / (double)queue->link.bandwidth);
	do
		end = (busy > now ? busy : now) + cost;
	while (!atomic_compare_exchange_weak(&queue->link_busy, &busy, end));
	return end;
}

/* Copy to the device with stores that bypass the caches: this process does not read the bytes soon, and the overwritten
 * cache lines need not be read. The C library does this, too, but only for copies of several MiB. */
static void copy_streaming(uint8_t *dst, const uint8_t *src, size_t size)
{
#ifdef __SSE2__
	size_t head = -(uintptr_t)dst & 63;

	if (size >= STREAM_SIZE && (dst + size <= src || src + size <= dst)) {
		memcpy(dst, src, head);
		dst += head;
		src += head;
		size -= head;
		for (; size >= 64; size -= 64, dst += 64, src += 64)
			for (int i = 0; i < 4; i++)
				_mm_stream_si128((__m128i *)dst + i, _mm_loadu_si128((const __m128i *)src + i));
		_mm_sfence();
	}
#endif
	memmove(dst, src, size);
}

void adsm_process_copy_now(struct adsm_process_copy_queue *queue, const struct adsm_process_copy *copy)
{
	uintptr_t page = (uintptr_t)copy->dst & ~(ADSM_PAGE_SIZE - 1);
	uint64_t end = 0;

	if (copy->linked && (queue->link.bandwidth || queue->link.latency_ns))
		end = link_take(queue, copy->size);
	if (copy->cold)
		adsm_os_populate((void *)page, ((uintptr_t)copy->dst + copy->size - page + ADSM_PAGE_SIZE - 1) &
				 ~(ADSM_PAGE_SIZE - 1), true);
	if (!copy->src)
		memset(copy->dst, copy->value, copy->size);
	else if (copy->to_device)
		copy_streaming(copy->dst, copy->src, copy->size);
	else if (copy->dst != copy->src)
		memmove(copy->dst, copy->src, copy->size);
	if (queue->written)
		queue->written(queue->arg, copy->dst, copy->size);
	if (!end)
		return;
	if (adsm_os_now_ns() + LINK_SPIN_NS < end)
		adsm_os_sleep_until_ns(end - LINK_SPIN_NS);
	while (adsm_os_now_ns() < end)
		adsm_process_pause();
}

static void run(void *arg)
{
	struct adsm_process_copy_queue *queue = arg;

	while (adsm_process_queue_next(&queue->queue, 0, false)) {
		adsm_process_copy_now(queue, &queue->ring[atomic_load(&queue->queue.done) % ADSM_PROCESS_COPY_RING]);
		adsm_process_queue_done(&queue->queue, false);
	}
}

int adsm_process_copy_submit(struct adsm_process_copy_queue *queue, const struct adsm_process_copy *copy,
			 uint64_t *ret_seq)
{
	static const _Atomic uint32_t never;
	struct adsm_sigset old;
	uint64_t given;
	int ret = 0;

	for (;;) {
		adsm_os_signals_block(&old);
		adsm_lock(&queue->lock);
		given = atomic_load(&queue->queue.submitted);
		if (given - atomic_load(&queue->queue.done) < ADSM_PROCESS_COPY_RING)
			break;
		adsm_unlock(&queue->lock);
		adsm_os_signals_restore(&old);
		adsm_process_queue_wait(&queue->queue, given - ADSM_PROCESS_COPY_RING + 1, &never, 0, false);
	}
	if (!queue->started)
		ret = adsm_os_thread_start(&queue->thread, "adsm-copy", run, queue);
	if (!ret) {
		queue->started = true;
		queue->ring[given % ADSM_PROCESS_COPY_RING] = *copy;
		*ret_seq = adsm_process_queue_submit(&queue->queue, false);
	}
	adsm_unlock(&queue->lock);
	adsm_os_signals_restore(&old);
	return ret;
}

void adsm_process_copy_finish(struct adsm_process_copy_queue *queue)
{
	adsm_process_queue_stop(&queue->queue, false);
	if (queue->started)
		adsm_os_thread_join(&queue->thread);
}
