/* SPDX-License-Identifier: MIT */
/* scan.h - prefix sums, and other prefixes, over the threads of a tile or a coalesced group. */
#ifndef ADSM_CUDA_COOPERATIVE_GROUPS_SCAN_H
#define ADSM_CUDA_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"

namespace cooperative_groups {

template <typename Group, typename T, typename F>
ADSM_CUDA_MEMBER T inclusive_scan(const Group &group, T value, F &&operation)
{
	const unsigned int rank = group.thread_rank();

	for (unsigned int step = 1; step < group.size(); step *= 2) {
		const T other = group.shfl_up(value, step);

		if (rank >= step)
			value = operation(other, value);
	}
	return value;
}

template <typename Group, typename T>
ADSM_CUDA_MEMBER T inclusive_scan(const Group &group, T value)
{
	return inclusive_scan(group, value, plus<T>());
}

/* The first thread gets a T(). */
template <typename Group, typename T, typename F>
ADSM_CUDA_MEMBER T exclusive_scan(const Group &group, T value, F &&operation)
{
	const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);

	return group.thread_rank() ? before : T();
}

template <typename Group, typename T>
ADSM_CUDA_MEMBER T exclusive_scan(const Group &group, T value)
{
	return exclusive_scan(group, value, plus<T>());
}

}

#endif
