/* SPDX-License-Identifier: MIT */
/* writes_store.c - see writes_store.h. */
#include "base/writes_store.h"

#include <stdlib.h>
#include <string.h>

#define VARIABLES ADSM_WRITES_VARIABLES
#define LIMIT ADSM_WRITES_LIMIT
#define ENDLESS ADSM_WRITES_ENDLESS

/* ---- Conditions --------------------------------------------------------------------------- */

/* The range of a sum of factors times variables, each from 0. False: there is no limit. */
static bool range_of(const struct adsm_writes_store *store, const int64_t *factors, __int128 *ret_low,
		     __int128 *ret_high)
{
	*ret_low = *ret_high = 0;
	for (int i = 0; i < VARIABLES; i++) {
		if (!factors[i])
			continue;
		if (store->counts[i] == ENDLESS)
			return false;
		if (factors[i] < 0)
			*ret_low += (__int128)factors[i] * (store->counts[i] - 1);
		else
			*ret_high += (__int128)factors[i] * (store->counts[i] - 1);
	}
	return true;
}

/* Is the condition g true for all values of the variables? */
static bool is_always(const struct adsm_writes_store *store, const struct adsm_writes_sum *sum)
{
	__int128 low = sum->constant;

	for (int i = 0; i < VARIABLES; i++) {
		if (sum->factors[i] < 0 && store->counts[i] == ENDLESS)
			return false;
		if (sum->factors[i] < 0)
			low += (__int128)sum->factors[i] * (store->counts[i] - 1);
	}
	return low >= 0;
}

static bool is_positive(const struct adsm_writes_store *store, const struct adsm_writes_sum *sum)
{
	struct adsm_writes_sum less = *sum;

	less.constant--;
	return is_always(store, &less);
}

static int compare_steps(const void *a, const void *b)
{
	const struct adsm_writes_step *x = a, *y = b;

	return x->length < y->length ? -1 : x->length > y->length;
}

/* How long is a run of @size that is repeated at all steps, as far as it has no gap? The steps are in their order. */
static __int128 run_of(int64_t size, const struct adsm_writes_step *steps, uint32_t n)
{
	__int128 run = size;

	for (uint32_t i = 0; i < n && steps[i].length <= run; i++) {
		if (steps[i].count == ENDLESS)
			return ENDLESS;
		run += (__int128)steps[i].length * (steps[i].count - 1);
		if (run > LIMIT)
			return ENDLESS;
	}
	return run;
}

/* Find the range of a new group. False: it does not have each integer in it. */
static bool range_group(const struct adsm_writes_store *store, struct adsm_writes_group *group)
{
	struct adsm_writes_step steps[VARIABLES];
	__int128 low = 0, count = 1;
	uint32_t n = 0;

	for (int i = 0; i < VARIABLES; i++) {
		const int64_t factor = group->factors[i];

		if (factor < 0 && store->counts[i] == ENDLESS)
			return false;
		if (factor < 0)
			low += (__int128)factor * (store->counts[i] - 1);
		if (factor)
			steps[n++] = (struct adsm_writes_step){ factor < 0 ? -factor : factor, store->counts[i] };
	}
	qsort(steps, n, sizeof(*steps), compare_steps);
	for (uint32_t i = 0; i < n; i++) {
		if (steps[i].length > count)
			return false;
		count = run_of((int64_t)count, &steps[i], 1);
		if (count == ENDLESS && steps[i].count != ENDLESS)
			return false;
		if (count == ENDLESS)
			break;
	}
	/* After a step without a limit, each integer is there. */
	if (!adsm_writes_is_small(low))
		return false;
	group->low = group->first_low = (int64_t)low;
	group->high = count == ENDLESS ? ENDLESS : (int64_t)(low + count - 1);
	return true;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		const int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b && (a < 0) != (b < 0));
}

/* The group with these factors, perhaps a new one. NULL: it has gaps, or shares variables with another one. */
static struct adsm_writes_group *group_of(struct adsm_writes_store *store, const int64_t *factors)
{
	struct adsm_writes_group *group = &store->groups[store->n_groups];

	for (uint32_t g = 0; g < store->n_groups; g++) {
		bool shares = false;

		if (!memcmp(store->groups[g].factors, factors, sizeof(store->groups[g].factors)))
			return &store->groups[g];
		for (int i = 0; i < VARIABLES; i++)
			shares |= store->groups[g].factors[i] && factors[i];
		if (shares)
			return NULL;
	}
	memcpy(group->factors, factors, sizeof(group->factors));
	if (store->n_groups == VARIABLES || !range_group(store, group))
		return NULL;
	store->n_groups++;
	return group;
}

/* Apply the condition that a sum is not negative: it limits a group. */
static bool apply(struct adsm_writes_store *store, const struct adsm_writes_sum *sum)
{
	int64_t unit = 0, factors[VARIABLES];
	struct adsm_writes_group *group;

	if (is_always(store, sum))
		return true;
	for (int i = 0; i < VARIABLES; i++)
		unit = common_divisor(unit, sum->factors[i]);
	if (!unit)
		return false;
	/* Count so that the first variable, or the last one without a limit, is added. */
	for (int i = VARIABLES; i-- > 0;) {
		if (!sum->factors[i])
			continue;
		if ((sum->factors[i] < 0) != (unit < 0))
			unit = -unit;
		if (store->counts[i] == ENDLESS)
			break;
	}
	for (int i = 0; i < VARIABLES; i++)
		factors[i] = sum->factors[i] / unit;
	group = group_of(store, factors);
	if (!group)
		return false;
	/* constant + unit * group >= 0 */
	if (unit > 0 && -floor_divide(sum->constant, unit) > group->low)
		group->low = -floor_divide(sum->constant, unit);
	if (unit < 0 && floor_divide(sum->constant, -unit) < group->high)
		group->high = floor_divide(sum->constant, -unit);
	return group->low <= group->high;
}

/* A loop that ends where a sum is 0: it must get there by its steps. Its turns are those before. */
static bool apply_end(struct adsm_writes_store *store, const struct adsm_writes_condition *condition)
{
	const int64_t step = condition->sum.factors[condition->loop];
	struct adsm_writes_sum before = { 0 };

	for (int i = 0; i < VARIABLES; i++) {
		if (i != condition->loop && condition->sum.factors[i])
			return false;
	}
	if (!step || condition->sum.constant % step || -(condition->sum.constant / step) < 0)
		return false;
	before.constant = -(condition->sum.constant / step) - 1;
	before.factors[condition->loop] = -1;
	return apply(store, &before);
}

static bool apply_condition(struct adsm_writes_store *store, const struct adsm_writes_condition *condition)
{
	struct adsm_writes_sum opposite = { .constant = -condition->sum.constant };

	for (int i = 0; i < VARIABLES; i++)
		opposite.factors[i] = -condition->sum.factors[i];
	switch (condition->kind) {
	case 'g':
		return apply(store, &condition->sum);
	case 'e':
		return apply(store, &condition->sum) && apply(store, &opposite);
	case 'n':
		if (condition->loop >= 0)
			return apply_end(store, condition);
		return is_positive(store, &condition->sum) || is_positive(store, &opposite);
	default:
		return true;
	}
}

/* Is one condition g true wherever another one is? */
static bool follows(const struct adsm_writes_store *store, const struct adsm_writes_condition *condition,
		    const struct adsm_writes_condition *other)
{
	struct adsm_writes_sum difference = { .constant = condition->sum.constant - other->sum.constant };

	for (int i = 0; i < VARIABLES; i++)
		difference.factors[i] = condition->sum.factors[i] - other->sum.factors[i];
	return condition->kind == 'g' && other->kind == 'g' && is_always(store, &difference);
}

/* Does a condition follow from another one? Of two that follow from each other, the first counts. */
static bool is_implied(const struct adsm_writes_store *store, uint32_t condition)
{
	const struct adsm_writes_condition *list = store->conditions;

	for (uint32_t i = 0; i < store->n_conditions; i++) {
		if (i != condition && follows(store, &list[condition], &list[i]) &&
		    (i < condition || !follows(store, &list[i], &list[condition])))
			return true;
	}
	return false;
}

/* Apply all conditions. False: the store is done nowhere, or that is not known. */
static bool apply_all(struct adsm_writes_store *store)
{
	for (uint32_t i = 0; i < store->n_conditions; i++) {
		const struct adsm_writes_condition *condition = &store->conditions[i];

		/* What is true in a turn must be true in all turns before. */
		if (condition->kind == 'g' && condition->loop >= 0 && condition->sum.factors[condition->loop] > 0)
			return false;
	}
	for (uint32_t i = 0; i < store->n_conditions; i++) {
		if (!is_implied(store, i) && !apply_condition(store, &store->conditions[i]))
			return false;
	}
	for (uint32_t g = 0; g < store->n_groups; g++) {
		if (store->groups[g].high == ENDLESS)
			return false;
	}
	return true;
}

/* ---- Stores ------------------------------------------------------------------------------- */

/* How many times the group is in a sum. False: not all of its variables are, as many times. */
static bool times_in(const struct adsm_writes_group *group, const struct adsm_writes_sum *sum, int64_t *ret_times)
{
	bool known = false;

	*ret_times = 0;
	for (int i = 0; i < VARIABLES; i++) {
		if (!group->factors[i])
			continue;
		if (!known)
			*ret_times = sum->factors[i] / group->factors[i];
		known = true;
		if ((__int128)group->factors[i] * *ret_times != sum->factors[i])
			return false;
	}
	return true;
}

/*
 * The least value of a group. A loop reaches a turn only through all turns before it. So if the group has the turns of
 * a loop, the value begins at the first turn, not at the first turn that is counted.
 */
static int64_t least_of(const struct adsm_writes_group *group)
{
	bool has_turns = false;

	for (int i = ADSM_WRITES_LOOPS; i < VARIABLES; i++)
		has_turns |= group->factors[i] != 0;
	return has_turns ? group->first_low : group->low;
}

/* Is a sum in the range of a type for all threads and turns that are counted, and in the turns before? */
static bool fits(const struct adsm_writes_store *store, const struct adsm_writes_condition *condition)
{
	const int64_t least = condition->kind == 's' ? INT32_MIN : condition->kind == 'S' ? -LIMIT : 0;
	const int64_t most = condition->kind == 's' ? INT32_MAX : condition->kind == 'u' ? UINT32_MAX : LIMIT;
	struct adsm_writes_sum rest = condition->sum;
	__int128 low, high, from = rest.constant, to = rest.constant;

	for (uint32_t g = 0; g < store->n_groups; g++) {
		const struct adsm_writes_group *group = &store->groups[g];
		int64_t times;

		if (!times_in(group, &rest, &times))
			continue;
		from += (__int128)times * (times < 0 ? group->high : least_of(group));
		to += (__int128)times * (times < 0 ? least_of(group) : group->high);
		for (int i = 0; i < VARIABLES; i++)
			rest.factors[i] = group->factors[i] ? 0 : rest.factors[i];
	}
	return range_of(store, rest.factors, &low, &high) && from + low >= least && to + high <= most;
}

static bool add_step(struct adsm_written *written, int64_t length, int64_t low, int64_t high)
{
	const __int128 start = (__int128)written->start + (__int128)length * (length < 0 ? high : low);

	if (!adsm_writes_is_small(start) || high == ENDLESS)
		return false;
	written->start = (int64_t)start;
	if (length && high > low)
		written->steps[written->n++] = (struct adsm_writes_step){
			length < 0 ? -length : length, high - low + 1,
		};
	return true;
}

/* Find what a store writes at a distance from the parameter's address. */
static bool find_written(const struct adsm_writes_store *store, struct adsm_written *ret)
{
	struct adsm_writes_sum rest = store->distance;

	*ret = (struct adsm_written){ .start = rest.constant, .size = store->size };
	for (uint32_t g = 0; g < store->n_groups; g++) {
		const struct adsm_writes_group *group = &store->groups[g];
		int64_t times;

		if (!times_in(group, &rest, &times) || !add_step(ret, times, group->low, group->high))
			return false;
		for (int i = 0; i < VARIABLES; i++)
			rest.factors[i] = group->factors[i] ? 0 : rest.factors[i];
	}
	for (int i = 0; i < VARIABLES; i++) {
		if (rest.factors[i] && (store->counts[i] == ENDLESS ||
					!add_step(ret, rest.factors[i], 0, store->counts[i] - 1)))
			return false;
	}
	qsort(ret->steps, ret->n, sizeof(*ret->steps), compare_steps);
	return true;
}

/* A variable that has one value does not count. */
static void leave_out_fixed(const struct adsm_writes_store *store, struct adsm_writes_sum *sum)
{
	for (int i = 0; i < VARIABLES; i++) {
		if (store->counts[i] == 1)
			sum->factors[i] = 0;
	}
}

bool adsm_writes_solve(struct adsm_writes_store *store, struct adsm_written *ret)
{
	leave_out_fixed(store, &store->distance);
	for (uint32_t i = 0; i < store->n_conditions; i++)
		leave_out_fixed(store, &store->conditions[i].sum);
	if (!apply_all(store))
		return false;
	for (uint32_t i = 0; i < store->n_conditions; i++) {
		if (strchr("suSU", store->conditions[i].kind) && !fits(store, &store->conditions[i]))
			return false;
	}
	return find_written(store, ret);
}

bool adsm_writes_read_store(const char *line, const struct adsm_writes_launch *launch,
			    struct adsm_writes_store *ret)
{
	int64_t param;

	ret->n_conditions = ret->n_groups = 0;
	for (int i = 0; i < VARIABLES; i++)
		ret->counts[i] = i < 3 ? launch->block[i] : i < ADSM_WRITES_LOOPS ? launch->grid[i - 3] : ENDLESS;
	if (!adsm_writes_read_head(&line, &param, &ret->size) ||
	    !adsm_writes_read_sum(&line, launch, &ret->distance))
		return false;
	while (*line == ' ') {
		line++;
		if (ret->n_conditions == ADSM_WRITES_CONDITIONS ||
		    !adsm_writes_read_condition(&line, launch, &ret->conditions[ret->n_conditions++]))
			return false;
	}
	return true;
}
