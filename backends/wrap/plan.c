/* SPDX-License-Identifier: MIT */
/* plan.c - decides which operations the wrapper fails, delays and traces: parses the plan and counts operations. */
#include "plan.h"

#include "base/log.h"
#include "base/os.h"
#include "list.h"

#include <errno.h>
#include <string.h>

struct adsm_wrap_plan adsm_wrap_plan;
_Atomic unsigned adsm_wrap_unsafe_calls;

static _Atomic uint64_t n_operations;
static _Atomic bool lost, failed;

static const char *const op_names[N_OPS] = {
	"alloc", "to_device", "to_host", "copy", "fill", "launch", "wait", "query", "module_load",
};

static bool parse_count(const char *text, uint64_t *ret_value)
{
	return !adsm_scan_digits(&text, 10, ret_value) && !*text;
}

static bool parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct { const char *name; uint64_t ns; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};
	uint64_t value;

	if (adsm_scan_digits(&text, 10, &value))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(text, units[i].name))
			return !__builtin_mul_overflow(value, units[i].ns, ret_ns);
	}
	return false;
}

static bool parse_ops(const char *text, unsigned *ret_ops)
{
	unsigned ops = 0;

	for (;;) {
		size_t length = strcspn(text, "+"), i = 0;

		while (i < N_OPS && (strlen(op_names[i]) != length || strncmp(op_names[i], text, length)))
			i++;
		if (i == N_OPS)
			return false;
		ops |= 1u << i;
		text += length;
		if (!*text++)
			break;
	}
	*ret_ops = ops;
	return true;
}

static bool parse_word(const char *word, struct adsm_wrap_plan *p)
{
	if (!strcmp(word, "trace"))
		return p->trace = true;
	if (!strcmp(word, "random"))
		return p->random = true;
	if (!strcmp(word, "once"))
		return p->once = true;
	if (!strcmp(word, "unsafe"))
		return p->unsafe = true;
	if (!strncmp(word, "seed=", 5))
		return parse_count(word + 5, &p->seed);
	if (!strncmp(word, "fail=", 5))
		return parse_count(word + 5, &p->fail) && p->fail;
	if (!strncmp(word, "lost=", 5))
		return parse_count(word + 5, &p->lost) && p->lost;
	if (!strncmp(word, "delay=", 6))
		return parse_time(word + 6, &p->delay_ns);
	if (!strncmp(word, "ops=", 4))
		return parse_ops(word + 4, &p->ops);
	return false;
}

static int parse_plan(const char *text, struct adsm_wrap_plan *ret_plan)
{
	struct adsm_wrap_plan parsed = { .ops = (1u << N_OPS) - 1 };
	char word[256];

	for (;;) {
		size_t length = strcspn(text, ",");

		adsm_format(word, length < sizeof(word) ? length + 1 : sizeof(word), "%s", text);
		if (length >= sizeof(word) || !parse_word(word, &parsed))
			return adsm_fail(-EINVAL, "ADSM_WRAP: '%s' is not valid; valid are trace, fail=N, "
					 "random, once, lost=N, delay=100us, seed=N, unsafe, ops= and some of "
					 "alloc+to_device+to_host+copy+fill+launch+wait+query+module_load",
					 word);
		text += length;
		if (!*text++)
			break;
	}
	*ret_plan = parsed;
	return 0;
}

/* A hash function that mixes all bits. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* The random number for operation @n. */
static uint64_t draw(uint64_t n)
{
	return mix(adsm_wrap_plan.seed + n * 0x9e3779b97f4a7c15u);
}

static bool fails(uint64_t n)
{
	const struct adsm_wrap_plan *plan = &adsm_wrap_plan;

	return plan->fail && (plan->random ? draw(~n) : n + plan->seed) % plan->fail == 0 &&
		!(plan->once && atomic_exchange(&failed, true));
}

int adsm_wrap_step(enum adsm_wrap_op op)
{
	uint64_t n;

	if (adsm_wrap_plan.unsafe && adsm_in_fault) {
		adsm_error("wrap: %s called in the fault handler of a backend that is not signal safe",
			   op_names[op]);
		atomic_fetch_add(&adsm_wrap_unsafe_calls, 1);
	}
	if (adsm_wrap_is_lost())
		return -ENODEV;
	if (!(adsm_wrap_plan.ops & (1u << op)))
		return 0;
	n = atomic_fetch_add(&n_operations, 1) + 1;
	if (adsm_wrap_plan.lost && n > adsm_wrap_plan.lost) {
		atomic_store(&lost, true);
		return -ENODEV;
	}
	if (adsm_wrap_plan.delay_ns)
		adsm_os_sleep_until_ns(adsm_os_now_ns() + draw(n) % (adsm_wrap_plan.delay_ns + 1));
	if (!fails(n))
		return 0;
	return op == OP_ALLOC ? -ENOMEM : -EIO;
}

int adsm_wrap_step_or_fail(enum adsm_wrap_op op)
{
	int ret = adsm_wrap_step(op);

	if (ret)
		adsm_fail(ret, ret == -ENODEV ? "the device was lost by the plan of ADSM_WRAP" :
			  "%s failed by the plan of ADSM_WRAP", op_names[op]);
	return ret;
}

bool adsm_wrap_is_lost(void)
{
	return atomic_load(&lost);
}

int adsm_wrap_plan_set(const char *text)
{
	int ret = parse_plan(text, &adsm_wrap_plan);

	if (ret)
		return ret;
	atomic_store(&n_operations, 0);
	atomic_store(&lost, false);
	atomic_store(&failed, false);
	atomic_store(&adsm_wrap_unsafe_calls, 0);
	return 0;
}
