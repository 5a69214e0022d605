/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/launch.c - launches of a cluster. If little was written, a launch is two messages for each node. LAUNCH
 * also contains what the host and the previous launch wrote, DONE what the node wrote, each with the pages inline. Only
 * if more was written is there a SYNC, and an exchange that all nodes take part in.
 */
#include "launch.h"

#include "base/os.h"
#include "cluster/node/pages/pages.h"
#include "exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The report of a node's part. Runs follow: written ones, then those that came unmapped and were touched. Then
 * `inline_bytes` of written pages; 0: too many for a letter. */
struct done {
	uint64_t write_faults, read_faults, before_ns, kernel_ns, waited_ns;
	uint64_t n_wrote, n_touched, inline_bytes;
};

static struct {
	struct adsm_node_options options;
	const struct adsm_node_calls *calls;
	/* This node's part. */
	bool running;
	uint64_t start_ns;
	uint64_t before_ns, after_ns;	/* duration of the last exchange before kernels and after them */
	struct adsm_letter launch;	/* other nodes: the letter, which contains the arguments */
	struct adsm_pages_counts before;
	const struct adsm_run *wrote;	/* in the last launch */
	size_t n_wrote;
	struct adsm_runs untouched;	/* pages that came unmapped and have not been touched: an ascending set */
	struct adsm_runs touched;
	/* Node 0. */
	struct adsm_runs *by_node;	/* what each node wrote */
	int n_done, n_times;
	int n_not_inline;		/* nodes whose DONE letters do not contain all that they wrote */
	bool synced;			/* all nodes took part in the last exchange */
	struct adsm_cluster_times *times;	/* one for each node */
	struct adsm_node_counts counts;
	struct adsm_segments segments;	/* what the host wrote; or what kernels wrote, during an exchange */
	/* What the last launch wrote: node 0 has it, and the next launch tells the other nodes. */
	struct adsm_segments pending;
} node;

static struct adsm_pack out;

/* ---- this node's part */

void adsm_node_interval(const struct adsm_node_launch *launch, int rank, uint64_t *ret_first, uint64_t *ret_n)
{
	const unsigned __int128 blocks = launch->n_blocks, n = (unsigned)adsm_comm.n, r = (unsigned)rank;

	if (launch->alone) {
		*ret_first = launch->first_block;
		*ret_n = rank ? 0 : launch->n_blocks;
	} else {
		*ret_first = launch->first_block + (uint64_t)(blocks * r / n);
		*ret_n = (uint64_t)(blocks * (r + 1) / n - blocks * r / n);
	}
}

static void begin(struct adsm_node_work *work, const struct adsm_run *read_only)
{
	if (adsm_pages_begin(read_only, work->launch.n_read_only))
		adsm_comm_fail("not enough memory or mappings to start a launch");
	adsm_node_interval(&work->launch, adsm_comm.rank, &work->first, &work->n);
	node.before = adsm_pages_counts();
	node.start_ns = adsm_os_now_ns();
	node.running = true;
	node.calls->begin(work);
	if (!work->n)
		node.start_ns = 0;
}

static bool has_ended(void)
{
	return !node.start_ns || node.calls->has_ended();
}

/* Finish this node's part, and make its report. */
static struct done finish(void)
{
	struct done done = {
		.before_ns = node.before_ns, .kernel_ns = node.start_ns ? adsm_os_now_ns() - node.start_ns : 0,
	};
	struct adsm_runs untouched = node.untouched;
	struct adsm_pages_counts counts;

	node.running = false;
	node.wrote = adsm_pages_written(&node.n_wrote);
	if (!node.wrote)
		adsm_comm_fail("not enough memory for the list of pages that a kernel wrote");
	counts = adsm_pages_counts();
	done.write_faults = counts.write_faults - node.before.write_faults;
	done.read_faults = counts.read_faults - node.before.read_faults;
	done.waited_ns = counts.waited_ns - node.before.waited_ns;
	adsm_runs_clear(&node.touched);
	node.untouched = (struct adsm_runs){ 0 };
	for (size_t i = 0; i < untouched.n; i++) {
		assert(!i || untouched.v[i - 1].first + untouched.v[i - 1].n <= untouched.v[i].first);
		for (uint64_t page = untouched.v[i].first; page < untouched.v[i].first + untouched.v[i].n; page++) {
			if (!adsm_pages_valid(page))
				continue;
			adsm_runs_add(adsm_pages_touched(page) ? &node.touched : &node.untouched, page, 1);
		}
	}
	free(untouched.v);
	done.n_wrote = node.n_wrote;
	done.n_touched = node.touched.n;
	return done;
}

static void add_traffic(struct adsm_comm_traffic *sum, struct adsm_comm_traffic now, struct adsm_comm_traffic before)
{
	sum->messages += now.messages - before.messages;
	sum->bytes += now.bytes - before.bytes;
}

static void exchange(const struct adsm_segments *segments, const struct adsm_run *wrote, size_t n_wrote)
{
	if (!adsm_comm.rank)
		add_traffic(&node.counts.pages, adsm_exchange_traffic(segments->v, segments->n),
			    (struct adsm_comm_traffic){ 0 });
	adsm_exchange(segments->v, segments->n, wrote, n_wrote, node.options.collective, &node.untouched);
}

static void exchange_by_sums(struct adsm_plan_counts *ret_counts)
{
	adsm_sums_plan(adsm_pages_objects(), node.wrote, node.n_wrote, &node.segments, ret_counts);
	exchange(&node.segments, node.wrote, node.n_wrote);
}

static void change_objects(const struct adsm_run *removed, size_t n_removed, const struct adsm_run *added,
			   size_t n_added)
{
	for (size_t i = 0; i < n_removed; i++)
		adsm_pages_remove(removed[i]);
	for (size_t i = 0; i < n_added; i++) {
		if (adsm_pages_add(added[i]))
			adsm_comm_fail("not enough memory or mappings for an object");
	}
}

void adsm_node_start(const struct adsm_node_options *options, const struct adsm_node_calls *calls)
{
	node.options = *options;
	node.calls = calls;
	node.by_node = adsm_node_table((size_t)adsm_comm.n * sizeof(*node.by_node));
	node.times = adsm_node_table((size_t)adsm_comm.n * sizeof(*node.times));
	adsm_plan_start(adsm_comm.n, options->n_pages, options->update, options->threshold, options->probe_every);
}

/* ---- node 0 */

static void serve_pages(const struct adsm_letter *letter)
{
	size_t at = 0;
	const struct adsm_run *run = adsm_pack_take(letter, &at, sizeof(*run), 8);

	if (run->first > node.options.n_pages || run->n > node.options.n_pages - run->first)
		adsm_comm_fail("node %d requested pages outside of device memory", letter->from);
	adsm_move_serve(letter->from, *run);
	/* Pages that were read ahead come unmapped: the node reports them after they are touched. */
	adsm_plan_read(letter->from, (struct adsm_run){ run->first, 1 });
	node.counts.fetched += run->n;
}

/* In node 0's time: the part ended when node 0 got the report. */
static void count_done(int from, const struct done *done, uint64_t end_ns)
{
	struct adsm_cluster_times *times = &node.times[from];

	node.counts.write_faults += done->write_faults;
	node.counts.read_faults += done->read_faults;
	if (done->kernel_ns > node.counts.kernel_ns)
		node.counts.kernel_ns = done->kernel_ns;
	times->work = (struct adsm_span){ end_ns - done->kernel_ns, done->kernel_ns };
	times->before = (struct adsm_span){ times->work.start_ns - done->before_ns, done->before_ns };
	times->after.ns = 0;
	times->waited_ns = done->waited_ns;
}

/* Count @size bytes of a letter as pages. */
static void count_inline(size_t size)
{
	adsm_comm.pages.bytes += size;
	adsm_comm.control.bytes -= size;
}

/* Keeps the letter if it contains pages. */
static void note_done(struct adsm_letter *letter)
{
	size_t at = 0;
	const struct done *done = adsm_pack_take(letter, &at, sizeof(*done), 8);
	const struct adsm_run *runs;

	count_done(letter->from, done, adsm_os_now_ns());
	runs = adsm_pack_take(letter, &at, done->n_wrote * sizeof(*runs), 8);
	adsm_runs_clear(&node.by_node[letter->from]);
	for (uint64_t i = 0; i < done->n_wrote; i++)
		adsm_runs_add(&node.by_node[letter->from], runs[i].first, runs[i].n);
	runs = adsm_pack_take(letter, &at, done->n_touched * sizeof(*runs), 8);
	for (uint64_t i = 0; i < done->n_touched; i++)
		adsm_plan_read(letter->from, runs[i]);
	node.n_done++;
	node.n_not_inline += done->n_wrote && !done->inline_bytes;
	if (!done->inline_bytes)
		return;
	count_inline(done->inline_bytes);
	adsm_inline_keep(letter, &at, done->inline_bytes);
}

static void note_times(const struct adsm_letter *letter)
{
	size_t at = 0;
	const uint64_t *after_ns = adsm_pack_take(letter, &at, sizeof(*after_ns), 8);

	node.times[letter->from].after = (struct adsm_span){ node.times[0].after.start_ns, *after_ns };
	node.n_times++;
}

bool adsm_node_poll(void)
{
	struct adsm_letter letter;

	if (!adsm_comm_receive(&letter))
		return false;
	switch (letter.tag) {
	case ADSM_TAG_WANT:
		serve_pages(&letter);
		break;
	case ADSM_TAG_DONE:
		note_done(&letter);
		break;
	case ADSM_TAG_TIMES:
		note_times(&letter);
		break;
	case ADSM_TAG_ECHO:
		node.n_done++;
		break;
	default:
		if (!node.calls->letter(&letter))
			adsm_comm_fail("node %d sent a message of kind %d, which node 0 does not accept", letter.from,
				       letter.tag);
	}
	adsm_comm_drop(&letter);
	return true;
}

/* Does each node get only few pages of these segments? */
static bool are_few(const struct adsm_segments *segments)
{
	for (int r = 1; r < adsm_comm.n; r++) {
		if (adsm_exchange_pages(segments->v, segments->n, r) > ADSM_INLINE_PAGES)
			return false;
	}
	return !node.options.paper;
}

/* Does any node get pages that not all nodes get? */
static bool bring_pages(const struct adsm_node_launch *launch)
{
	uint64_t pages = 0;

	for (int r = 1; r < adsm_comm.n; r++) {
		pages += adsm_exchange_pages(node.pending.v, node.pending.n, r);
		if (launch->inline_pages)
			pages += adsm_exchange_pages(node.segments.v, node.segments.n, r);
	}
	return pages;
}

static void send_launch(const struct adsm_node_work *work, const struct adsm_node_before *before)
{
	const struct adsm_node_launch *launch = &work->launch;
	size_t all, pending;

	out.n = 0;
	adsm_pack_put(&out, launch, sizeof(*launch), 64);
	adsm_pack_put(&out, work->args, launch->arg_bytes, 64);
	adsm_pack_put(&out, work->arg_offset, launch->n_args * sizeof(*work->arg_offset), 8);
	adsm_pack_put(&out, before->removed.v, before->removed.n * sizeof(struct adsm_run), 8);
	adsm_pack_put(&out, before->added.v, before->added.n * sizeof(struct adsm_run), 8);
	adsm_pack_put(&out, before->read_only.v, launch->n_read_only * sizeof(struct adsm_run), 8);
	adsm_pack_put(&out, node.pending.v, node.pending.n * sizeof(*node.pending.v), 8);
	adsm_pack_put(&out, node.segments.v, node.segments.n * sizeof(*node.segments.v), 8);
	all = out.n;
	if (!bring_pages(launch)) {
		adsm_comm_send(-1, ADSM_TAG_LAUNCH, out.data, out.n);
		node.pending.n = 0;
		return;
	}
	for (int r = 1; r < adsm_comm.n; r++) {
		out.n = all;
		adsm_exchange_put(&out, node.pending.v, node.pending.n, r);
		pending = out.n;
		if (launch->inline_pages)
			adsm_exchange_put(&out, node.segments.v, node.segments.n, r);
		adsm_comm_send(r, ADSM_TAG_LAUNCH, out.data, out.n);
		count_inline(out.n - pending);
		/* They were counted when they were planned. */
		adsm_comm.control.bytes -= pending - all;
	}
	node.pending.n = 0;
}

/* Wait until all parts have ended, and serve pages meanwhile. */
static void wait_for_all(void)
{
	struct done done;
	uint64_t end_ns = 0;
	bool ended = false;

	while (!ended || node.n_done < adsm_comm.n - 1) {
		bool found = adsm_node_poll();

		node.calls->poll();
		if (!ended && has_ended()) {
			done = finish();
			end_ns = adsm_os_now_ns();
			ended = found = true;
		}
		if (!found)
			adsm_comm_rest(ADSM_COMM_COMPUTE_NS);
	}
	count_done(0, &done, end_ns);
	adsm_runs_clear(&node.by_node[0]);
	for (size_t i = 0; i < node.n_wrote; i++)
		adsm_runs_add(&node.by_node[0], node.wrote[i].first, node.wrote[i].n);
}

/* Node 0 has done its part of an exchange: ask how long the other nodes took. */
static void ask_times(void)
{
	node.n_times = 0;
	adsm_comm_send(-1, ADSM_TAG_TIMES, NULL, 0);
	while (node.n_times < adsm_comm.n - 1) {
		bool found = adsm_node_poll();

		node.calls->poll();
		if (!found)
			adsm_comm_rest(ADSM_COMM_BUSY_NS);
	}
}

static struct adsm_plan_counts sync_all(void)
{
	struct adsm_plan_counts counts;

	node.synced = true;
	if (node.options.paper) {
		adsm_comm_send(-1, ADSM_TAG_SYNC, NULL, 0);
		exchange_by_sums(&counts);
		return counts;
	}
	adsm_plan_kernel(node.by_node, &node.segments, &counts);
	node.synced = node.n_not_inline || !are_few(&node.segments);
	if (!node.synced) {
		struct adsm_segments empty = node.pending;

		/* The next launch tells the other nodes. */
		adsm_inline_merge();
		node.pending = node.segments;
		node.segments = empty;
		node.counts.pages.bytes += counts.pushed * ADSM_PAGE_SIZE;
	} else {
		out.n = 0;
		adsm_pack_put(&out, node.segments.v, node.segments.n * sizeof(*node.segments.v), 8);
		adsm_comm_send(-1, ADSM_TAG_SYNC, out.data, out.n);
		exchange(&node.segments, node.wrote, node.n_wrote);
	}
	adsm_inline_drop();
	return counts;
}

void adsm_node_run(const struct adsm_node_work *work, const struct adsm_node_before *before,
		   struct adsm_node_counts *ret_counts)
{
	const struct adsm_comm_traffic pages = adsm_comm.pages, control = adsm_comm.control;
	struct adsm_node_work part = *work;
	struct adsm_plan_counts counts;
	uint64_t start_ns;

	node.counts = (struct adsm_node_counts){ 0 };
	node.n_done = node.n_not_inline = 0;
	for (size_t i = 0; i < before->removed.n; i++)
		adsm_plan_forget(before->removed.v[i]);
	for (size_t i = 0; i < before->added.n; i++)
		adsm_plan_forget(before->added.v[i]);
	adsm_plan_host(before->written.v, before->written.n, &node.segments);
	part.launch.n_removed = (uint32_t)before->removed.n;
	part.launch.n_added = (uint32_t)before->added.n;
	part.launch.n_read_only = node.options.paper ? 0 : (uint32_t)before->read_only.n;
	part.launch.n_pending = (uint32_t)node.pending.n;
	part.launch.n_segments = (uint32_t)node.segments.n;
	part.launch.inline_pages = are_few(&node.segments);
	send_launch(&part, before);
	change_objects(before->removed.v, before->removed.n, before->added.v, before->added.n);
	for (size_t i = 0; i < before->written.n; i++)
		adsm_pages_arrived(before->written.v[i], true);
	start_ns = adsm_os_now_ns();
	if (!part.launch.inline_pages)
		exchange(&node.segments, NULL, 0);
	node.before_ns = part.launch.inline_pages ? 0 : adsm_os_now_ns() - start_ns;
	begin(&part, before->read_only.v);
	wait_for_all();

	start_ns = adsm_os_now_ns();
	counts = sync_all();
	node.counts.exchange_ns = adsm_os_now_ns() - start_ns;
	/* Without written pages there is no exchange, except with ADSM_PAPER. */
	if (counts.modified || node.options.paper) {
		node.times[0].after = (struct adsm_span){ start_ns, node.counts.exchange_ns };
		if (work->launch.counted && node.synced)
			ask_times();
	}
	node.counts.times = node.times;
	node.counts.global = adsm_runs_pages(adsm_pages_objects()->v, adsm_pages_objects()->n);
	node.counts.modified = counts.modified;
	node.counts.single = counts.single;
	node.counts.multi = counts.multi;
	node.counts.pushed = counts.pushed;
	add_traffic(&node.counts.pages, adsm_comm.pages, pages);
	add_traffic(&node.counts.control, adsm_comm.control, control);
	*ret_counts = node.counts;
}

bool adsm_node_wrote(struct adsm_run run)
{
	for (int r = 0; r < adsm_comm.n; r++) {
		const struct adsm_runs *runs = &node.by_node[r];

		for (size_t i = 0; i < runs->n; i++) {
			if (runs->v[i].first < run.first + run.n && run.first < runs->v[i].first + runs->v[i].n)
				return true;
		}
	}
	return false;
}

void adsm_node_echo(void)
{
	static const struct adsm_node_launch nothing;

	node.n_done = 0;
	adsm_comm_send(-1, ADSM_TAG_ECHO, &nothing, sizeof(nothing));
	while (node.n_done < adsm_comm.n - 1) {
		if (!adsm_node_poll())
			adsm_comm_rest(ADSM_COMM_COMPUTE_NS);
	}
}

/* ---- other nodes */

static struct adsm_segments take_segments(const struct adsm_letter *letter, size_t *at, size_t n)
{
	const size_t size = n * sizeof(struct adsm_segment);

	return (struct adsm_segments){ .v = (void *)(uintptr_t)adsm_pack_take(letter, at, size, 8), .n = n };
}

static void begin_launch(void)
{
	const struct adsm_letter *letter = &node.launch;
	const struct adsm_run *removed, *added, *read_only;
	struct adsm_node_work work;
	struct adsm_segments pending, segments;
	uint64_t start_ns;
	size_t at = 0;

	memcpy(&work.launch, adsm_pack_take(letter, &at, sizeof(work.launch), 64), sizeof(work.launch));
	work.args = adsm_pack_take(letter, &at, work.launch.arg_bytes, 64);
	work.arg_offset = adsm_pack_take(letter, &at, work.launch.n_args * sizeof(*work.arg_offset), 8);
	removed = adsm_pack_take(letter, &at, work.launch.n_removed * sizeof(*removed), 8);
	added = adsm_pack_take(letter, &at, work.launch.n_added * sizeof(*added), 8);
	read_only = adsm_pack_take(letter, &at, work.launch.n_read_only * sizeof(*read_only), 8);
	pending = take_segments(letter, &at, work.launch.n_pending);
	segments = take_segments(letter, &at, work.launch.n_segments);
	/* The pending pages first: the objects have not changed since these were written. */
	adsm_exchange_take(letter, &at, pending.v, pending.n, &node.untouched);
	change_objects(removed, work.launch.n_removed, added, work.launch.n_added);
	start_ns = adsm_os_now_ns();
	if (work.launch.inline_pages)
		adsm_exchange_take(letter, &at, segments.v, segments.n, &node.untouched);
	else
		exchange(&segments, NULL, 0);
	node.before_ns = segments.n ? adsm_os_now_ns() - start_ns : 0;
	begin(&work, read_only);
}

static void send_done(void)
{
	struct done done = finish();
	size_t inline_bytes;

	out.n = 0;
	adsm_pack_put(&out, &done, sizeof(done), 8);
	adsm_pack_put(&out, node.wrote, node.n_wrote * sizeof(*node.wrote), 8);
	adsm_pack_put(&out, node.touched.v, node.touched.n * sizeof(*node.touched.v), 8);
	inline_bytes = node.options.paper ? 0 : adsm_inline_put(&out, node.wrote, node.n_wrote);
	((struct done *)out.data)->inline_bytes = inline_bytes;
	adsm_comm_send(0, ADSM_TAG_DONE, out.data, out.n);
	adsm_comm_drop(&node.launch);
}

static void synchronise(const struct adsm_letter *letter)
{
	struct adsm_segments segments = { .v = letter->data, .n = letter->size / sizeof(*segments.v) };
	const uint64_t start_ns = adsm_os_now_ns();
	struct adsm_plan_counts counts;

	if (node.options.paper)
		exchange_by_sums(&counts);
	else
		exchange(&segments, node.wrote, node.n_wrote);
	node.after_ns = adsm_os_now_ns() - start_ns;
}

/* Request the pages that kernels wait for, and let threads continue whose pages have come. */
static bool move_pages(void)
{
	bool adaptive = node.options.update == ADSM_UPDATE_ADAPTIVE, found = false;
	struct adsm_run run;

	while (adsm_pages_wanted(&run)) {
		adsm_move_fetch(run);
		found = true;
	}
	while (adsm_move_fetched(&run)) {
		adsm_pages_arrived((struct adsm_run){ run.first, adaptive ? 1 : run.n }, true);
		if (adaptive && run.n > 1) {
			const struct adsm_run ahead = { run.first + 1, run.n - 1 };

			adsm_pages_arrived(ahead, false);
			adsm_runs_insert(&node.untouched, ahead);
		}
		found = true;
	}
	return found;
}

void adsm_node_serve(void)
{
	struct adsm_letter letter;
	bool found, in_task;

	for (;;) {
		found = adsm_comm_receive(&letter);
		if (found && letter.tag == ADSM_TAG_LAUNCH) {
			node.launch = letter;
			begin_launch();
		} else if (found) {
			switch (letter.tag) {
			case ADSM_TAG_SYNC:
				synchronise(&letter);
				break;
			case ADSM_TAG_TIMES:
				adsm_comm_send(0, ADSM_TAG_TIMES, &node.after_ns, sizeof(node.after_ns));
				break;
			case ADSM_TAG_ECHO:
				adsm_comm_send(0, ADSM_TAG_ECHO, &(struct done){ 0 }, sizeof(struct done));
				break;
			case ADSM_TAG_END:
				return;
			default:
				if (!node.calls->letter(&letter))
					adsm_comm_fail("node 0 sent a message of unknown kind %d", letter.tag);
			}
			adsm_comm_drop(&letter);
		}
		node.calls->poll();
		in_task = node.calls->poll_task(&found);
		if (node.running) {
			found |= move_pages();
			if (has_ended() && !adsm_move_n_fetches()) {
				send_done();
				found = true;
			}
		}
		if (!found)
			adsm_comm_rest(adsm_move_n_fetches() ? ADSM_COMM_BUSY_NS :
				       in_task ? ADSM_COMM_COMPUTE_NS : ADSM_COMM_IDLE_NS);
	}
}
