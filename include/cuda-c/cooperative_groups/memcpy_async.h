/* SPDX-License-Identifier: MIT */
/* memcpy_async.h - copies that all threads of a group do together. They are done when wait() returns. */
#ifndef ADSM_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define ADSM_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"

namespace cooperative_groups {

/* @size: bytes. */
template <typename Group, typename T, typename U>
ADSM_CUDA_MEMBER void memcpy_async(const Group &group, T *to, const U *from, size_t size)
{
	char *p = (char *)to;
	const char *q = (const char *)from;

	if (!(((size_t)p | (size_t)q | size) & 3)) {
		for (size_t i = 4 * group.thread_rank(); i < size; i += 4 * group.size())
			*(unsigned int *)(p + i) = *(const unsigned int *)(q + i);
	} else {
		for (size_t i = group.thread_rank(); i < size; i += group.size())
			p[i] = q[i];
	}
}

template <typename Group> ADSM_CUDA_MEMBER void wait(const Group &group) { group.sync(); }
template <unsigned int Stages, typename Group> ADSM_CUDA_MEMBER void wait_prior(const Group &group) { group.sync(); }

}

#endif
