/* SPDX-License-Identifier: MIT */
/* reduce.h - reductions over the threads of a tile or a coalesced group. All of them get the result. */
#ifndef ADSM_CUDA_COOPERATIVE_GROUPS_REDUCE_H
#define ADSM_CUDA_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <typename T> struct plus { ADSM_CUDA_MEMBER T operator()(T a, T b) const { return a + b; } };
template <typename T> struct less { ADSM_CUDA_MEMBER T operator()(T a, T b) const { return b < a ? b : a; } };
template <typename T> struct greater { ADSM_CUDA_MEMBER T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T> struct bit_and { ADSM_CUDA_MEMBER T operator()(T a, T b) const { return a & b; } };
template <typename T> struct bit_or { ADSM_CUDA_MEMBER T operator()(T a, T b) const { return a | b; } };
template <typename T> struct bit_xor { ADSM_CUDA_MEMBER T operator()(T a, T b) const { return a ^ b; } };

template <unsigned int N, typename Parent, typename T, typename F>
ADSM_CUDA_MEMBER T reduce(const thread_block_tile<N, Parent> &group, T value, F &&operation)
{
	for (unsigned int with = N / 2; with > 0; with /= 2)
		value = operation(value, group.shfl_xor(value, with));
	return value;
}

template <unsigned int N, typename T, typename F>
ADSM_CUDA_MEMBER T reduce(const adsm_large_tile<N> &group, T value, F &&operation)
{
	for (unsigned int with = N / 2; with > 0; with /= 2)
		value = operation(value, group.shfl_xor(value, with));
	return value;
}

template <typename T, typename F>
ADSM_CUDA_MEMBER T reduce(const coalesced_group &group, T value, F &&operation)
{
	const unsigned int rank = group.thread_rank(), n = group.size();

	for (unsigned int step = 1; step < n; step *= 2) {
		const T other = group.shfl_down(value, step);

		if (rank % (2 * step) == 0 && rank + step < n)
			value = operation(value, other);
	}
	return group.shfl(value, 0);
}

}

#endif
