/* SPDX-License-Identifier: MIT */
/*
 * hcrc_flags.c - flags: the operations of a node's workers, and the manager, which has the flags.
 *
 * An operation on a flag is a release, also if it releases nothing: the manager executes it after all earlier releases
 * of the same node. So operations of a node's workers keep their order, also if the workers have synchronized on the
 * node only. Each worker has room for one operation at the manager. The worker continues after it has begun to set or
 * clear a flag, and waits before its next operation until the manager has executed the one before.
 */
#include "hcrc.h"

#include <errno.h>

/* ---- a node */

static void begin(struct adsm_hcrc *hcrc, uint32_t number, uint8_t kind, uint32_t flag)
{
	struct adsm_hcrc_worker *worker = &hcrc->workers[number];

	worker->flag_kind = kind;
	worker->flag = flag;
	if (kind != ADSM_HCRC_FLAG_AWAIT)
		adsm_hcrc_go(hcrc, number);
	adsm_hcrc_leave(hcrc, hcrc->config.n_locks + number, kind == ADSM_HCRC_FLAG_SET);
}

int adsm_hcrc_flag(struct adsm_hcrc *hcrc, uint32_t number, uint8_t kind, uint32_t flag)
{
	struct adsm_hcrc_worker *worker = &hcrc->workers[number];

	if (flag >= hcrc->config.n_flags)
		return -EINVAL;
	worker->waits = ADSM_HCRC_FOR_FLAG;
	if (worker->flag_kind) {
		worker->next_flag_kind = kind;
		worker->next_flag = flag;
	} else {
		begin(hcrc, number, kind, flag);
	}
	return 0;
}

void adsm_hcrc_send_flag(struct adsm_hcrc *hcrc, uint32_t number)
{
	const struct adsm_hcrc_worker *worker = &hcrc->workers[number];
	struct adsm_hcrc_message message = { .kind = worker->flag_kind, .page = worker->flag, .count = number,
		.lock = adsm_hcrc_flag_release(&hcrc->config, hcrc->config.self, number) };

	hcrc->list->n = 0;
	if (worker->flag_kind == ADSM_HCRC_FLAG_SET)
		adsm_hcrc_flush(hcrc, message.lock);
	message.size = hcrc->list->n * (uint32_t)sizeof(*hcrc->list->at);
	adsm_hcrc_send(hcrc, ADSM_HCRC_MANAGER, message, hcrc->list->at);
}

int adsm_hcrc_on_flag_done(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	struct adsm_hcrc_worker *worker;
	uint8_t kind;

	if (message->count >= adsm_hcrc_n_workers(hcrc))
		return -EPROTO;
	worker = &hcrc->workers[message->count];
	if (!worker->flag_kind || worker->flag != message->page ||
	    adsm_hcrc_invalidate_all(hcrc, message->size, bytes))
		return -EPROTO;
	kind = worker->next_flag_kind;
	if (worker->flag_kind == ADSM_HCRC_FLAG_AWAIT)
		adsm_hcrc_go(hcrc, message->count);
	worker->flag_kind = worker->next_flag_kind = 0;
	if (kind)
		begin(hcrc, message->count, kind, worker->next_flag);
	return 0;
}

/* ---- the manager */

static struct adsm_hcrc_flag_op *op_of(const struct adsm_hcrc *hcrc, uint32_t number)
{
	return &hcrc->flag_ops[number - hcrc->config.n_locks - hcrc->config.n_nodes];
}

int adsm_hcrc_on_flag(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_flag_op *op;

	if (message->count >= hcrc->config.workers[message->from] ||
	    message->lock != adsm_hcrc_flag_release(&hcrc->config, message->from, message->count))
		return -EPROTO;
	op = op_of(hcrc, message->lock);
	if (op->kind)
		return -EPROTO;
	*op = (struct adsm_hcrc_flag_op){ .flag = message->page, .kind = message->kind, .node = message->from,
					  .worker = (uint8_t)message->count };
	return 0;
}

static void send_done(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_flag_op *op = op_of(hcrc, number);
	const struct adsm_hcrc_message message = {
		.kind = ADSM_HCRC_FLAG_DONE, .page = op->flag, .count = op->worker, .lock = number,
		.has = op->kind == ADSM_HCRC_FLAG_SET };
	const bool waited = op->kind == ADSM_HCRC_FLAG_AWAIT;

	op->kind = 0;
	if (waited)
		adsm_hcrc_send_with_notices(hcrc, op->node, message);
	else
		adsm_hcrc_send(hcrc, op->node, message, NULL);
}

void adsm_hcrc_execute_flag(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_flag_op *op = op_of(hcrc, number);
	struct adsm_hcrc_flag *flag = &hcrc->flags[op->flag];
	uint32_t waits = 0;

	if (op->kind == ADSM_HCRC_FLAG_AWAIT && !flag->set) {
		op->next = flag->first;
		flag->first = number + 1;
		return;
	}
	if (op->kind == ADSM_HCRC_FLAG_SET) {
		flag->set = true;
		waits = flag->first;
		flag->first = 0;
	} else if (op->kind == ADSM_HCRC_FLAG_CLEAR) {
		flag->set = false;
	}
	send_done(hcrc, number);
	for (uint32_t next; waits; waits = next) {
		next = op_of(hcrc, waits - 1)->next;
		send_done(hcrc, waits - 1);
	}
}
