/* SPDX-License-Identifier: MIT */
/* groups.cu - the classes and functions of cooperative groups. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

struct large {
	double a, b;
	short c;
};

/* A function that takes any group. */
__device__ int sum(const cg::thread_group &group, int value, int *memory)
{
	int result = 0;

	memory[group.thread_rank()] = value;
	group.sync();
	for (unsigned int i = 0; i < group.size(); i++)
		result += memory[i];
	group.sync();
	return result;
}

template <typename Group>
__device__ int lanes(const Group &group, int value, double *out)
{
	int same = 0;
	large l = { (double)value, 2, 3 };
	const int sum = cg::reduce(group, value, cg::plus<int>()) + cg::reduce(group, value, cg::less<int>()) +
			cg::reduce(group, value, cg::greater<int>()) + cg::reduce(group, value, cg::bit_and<int>()) +
			cg::reduce(group, value, cg::bit_or<int>()) + cg::reduce(group, value, cg::bit_xor<int>());

	l = group.shfl(l, 0);
	out[group.thread_rank()] = l.a + group.shfl_down(l.b, 1) + group.shfl_up(1.5f, 2);
	group.sync();
	value = (int)group.ballot(value & 1) + group.any(value) + group.all(value) + (int)group.match_any(value) +
		(int)group.match_all(value, same) + same + (int)group.size() + (int)group.num_threads() +
		(int)group.meta_group_size() + (int)group.meta_group_rank();
	return value + sum + cg::inclusive_scan(group, value) + cg::exclusive_scan(group, value) +
	       cg::exclusive_scan(group, value, cg::greater<int>());
}

__global__ void groups(int *p, double *out)
{
	__shared__ int memory[64];
	cg::thread_block block = cg::this_thread_block();
	cg::grid_group grid = cg::this_grid();
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
	auto tile = cg::tiled_partition<16>(block);
	auto part = cg::tiled_partition<4>(tile);
	const int x = p[grid.thread_rank()];

	p[0] = sum(block, x, memory) + sum(tile, x, memory) + sum(cg::tiled_partition(block, 8), x, memory) +
	       sum(cg::tiled_partition(tile, 2), x, memory) + sum(cg::coalesced_threads(), x, memory);
	p[1] = lanes(tile, x, out) + lanes(part, x, out) + lanes(warp, x, out) + tile.shfl_xor(x, 3);
	if (x & 1)
		p[2] = lanes(cg::coalesced_threads(), x, out) +
		       lanes(cg::tiled_partition(cg::coalesced_threads(), 4), x, out);
	p[3] = lanes(cg::binary_partition(warp, x > 3), x, out) + lanes(cg::labeled_partition(tile, x), x, out);
	cg::memcpy_async(block, memory, p, 256);
	cg::wait(block);
	cg::memcpy_async(tile, (char *)memory, (const char *)p, 7);
	cg::wait_prior<1>(tile);
	grid.sync();
	cg::sync(block);
	block.sync();
	p[4] = (int)(block.group_index().x + block.thread_index().y + block.group_dim().z + block.dim_threads().x +
		     grid.group_dim().x + grid.num_blocks() + grid.block_rank() + grid.dim_blocks().y +
		     grid.block_index().z + cg::group_size(tile) + cg::thread_rank(block)) + grid.is_valid();
}
