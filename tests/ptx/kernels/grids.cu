/* SPDX-License-Identifier: MIT */
/* grids.cu - barriers of the whole grid, and tiles of cooperative groups. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

/* Two buffers, which the grid's threads read and write in turns. */
extern "C" __global__ void grid_sync(int *a, int *b, int n, int rounds)
{
	cg::grid_group grid = cg::this_grid();

	for (int round = 0; round < rounds; round++) {
		const int *from = round & 1 ? b : a;
		int *to = round & 1 ? a : b;

		for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
			to[i] = from[(i + 1) % n] + from[(i + n - 1) % n] * 2;
		grid.sync();
	}
}

/* The barrier as programs write it themselves. */
extern "C" __global__ void grid_by_hand(int *a, int *b, int n, unsigned int *arrived)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		b[i] = a[i] * 2;
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd(arrived, 1u);
		while (*(volatile unsigned int *)arrived < gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
	if (i < n)
		a[i] = b[n - 1 - i] + 1;
}

/* Threads keep the address of a part of a parameter while other blocks run. */
struct alignas(64) weights {
	int v[32];
};

__device__ __noinline__ int sum(struct weights w)
{
	int result = 0;

	for (int k = 0; k < 32; k++)
		result += w.v[k];
	return result;
}

extern "C" __global__ void grid_address(struct weights w, const int *in, int *out)
{
	const int i = (int)cg::this_grid().thread_rank();
	const int *const at = w.v + (in[i] & 15);
	struct weights other;

	out[i] = at[0];
	cg::this_grid().sync();
	for (int k = 0; k < 32; k++)
		other.v[k] = in[k] + i;
	out[i] += sum(other) + at[1] * 100;
}

extern "C" __global__ void grid_tiles(const int *in, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
	const int i = (int)cg::this_grid().thread_rank(), x = in[i] & 0xffff;
	const int sum = cg::reduce(tile, x, cg::plus<int>()), most = cg::reduce(tile, x, cg::greater<int>());
	const int before = cg::exclusive_scan(tile, x);
	int together = 0;

	if (x % 3 == 0) {
		cg::coalesced_group here = cg::coalesced_threads();

		together = (int)here.size() * 100 + (int)here.thread_rank() + here.shfl(x, 0);
	}
	block.sync();
	out[i] = sum + most * 3 + before * 5 + together + (int)tile.meta_group_rank() + (int)tile.ballot(x & 1);
}

/* The number of groups that a partition makes, and which one of them this is. */
template <typename Group> __device__ int place_of(const Group &group)
{
	return (int)(group.meta_group_size() * 100 + group.meta_group_rank());
}

extern "C" __global__ void grid_partitions(const int *in, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	const auto tile = cg::tiled_partition<16>(block);
	const auto part = cg::tiled_partition<4>(tile);
	const cg::thread_block_tile<4> any = part;
	const int i = (int)cg::this_grid().thread_rank(), x = in[i] & 0xffff;
	int *own = out + 8 * i;

	own[0] = place_of(tile);
	own[1] = place_of(part);
	own[2] = place_of(any);
	own[3] = place_of(cg::coalesced_group(part));
	own[4] = place_of(cg::labeled_partition(tile, x % 3));
	own[5] = place_of(cg::binary_partition(tile, x % 5 < 2));
	if (x & 1) {
		const cg::coalesced_group odd = cg::coalesced_threads();

		own[6] = place_of(odd);
		own[7] = place_of(cg::tiled_partition(odd, 4));
	}
}
