/* SPDX-License-Identifier: MIT */
/*
 * cooperative_groups.h - groups of threads: the block, the grid, tiles of a warp, and the threads of a warp that are
 * together. Groups of several grids are not here.
 */
#ifndef ADSM_CUDA_COOPERATIVE_GROUPS_H
#define ADSM_CUDA_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

/* Function and type names in the group's classes are those of CUDA's manual. */
#define ADSM_CUDA_MEMBER __device__ __inline__ __attribute__((always_inline, nodebug))

namespace adsm_cuda {

/* The number of arrived blocks, and of finished barriers. */
static __device__ unsigned int grid_arrived, grid_barriers;

ADSM_CUDA_MEMBER unsigned int lane(void) { return __nvvm_read_ptx_sreg_laneid(); }
ADSM_CUDA_MEMBER unsigned int lanes_below(void) { return __nvvm_read_ptx_sreg_lanemask_lt(); }
ADSM_CUDA_MEMBER unsigned int block_size(void) { return blockDim.x * blockDim.y * blockDim.z; }
ADSM_CUDA_MEMBER unsigned int block_rank(void)
{
	return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
ADSM_CUDA_MEMBER unsigned int grid_blocks(void) { return gridDim.x * gridDim.y * gridDim.z; }

/* A value of any size, from another lane: word by word. */
template <typename T, typename F>
ADSM_CUDA_MEMBER T by_words(const T &value, F exchange)
{
	const int n = (sizeof(T) + 3) / 4;
	unsigned int words[n] = { };
	T result;

	__builtin_memcpy(words, &value, sizeof(T));
	for (int i = 0; i < n; i++)
		words[i] = exchange(words[i]);
	__builtin_memcpy(&result, words, sizeof(T));
	return result;
}

}

/*
 * The barrier of the grid. It is a function of its own: devices of the library replace it by their own barrier. On a
 * GPU all blocks of a cooperative launch run at the same time, so the blocks can wait for each other in memory.
 */
extern "C" __device__ __inline__ __attribute__((noinline)) void __adsm_grid_sync(void)
{
	__syncthreads();
	if (adsm_cuda::block_rank() == 0) {
		volatile unsigned int *barriers = &adsm_cuda::grid_barriers;
		const unsigned int before = *barriers;

		__threadfence();
		if (atomicAdd(&adsm_cuda::grid_arrived, 1) == adsm_cuda::grid_blocks() - 1) {
			adsm_cuda::grid_arrived = 0;
			__threadfence();
			*barriers = before + 1;
		} else {
			while (*barriers == before)
				;
		}
		__threadfence();
	}
	__syncthreads();
}

namespace cooperative_groups {

/* ---- Any group ---------------------------------------------------------------------------- */

class thread_group {
protected:
	friend class adsm_group_maker;
	enum kind { of_block, of_grid, of_lanes } kind_;
	unsigned int mask_;		/* of lanes */
	ADSM_CUDA_MEMBER thread_group(enum kind kind, unsigned int mask) : kind_(kind), mask_(mask) { }
public:
	ADSM_CUDA_MEMBER void sync(void) const
	{
		if (kind_ == of_block)
			__syncthreads();
		else if (kind_ == of_grid)
			__adsm_grid_sync();
		else
			__syncwarp(mask_);
	}
	ADSM_CUDA_MEMBER unsigned long long size(void) const
	{
		return kind_ == of_lanes ? (unsigned int)__popc(mask_) :
		       kind_ == of_block ? adsm_cuda::block_size() :
		       (unsigned long long)adsm_cuda::block_size() * adsm_cuda::grid_blocks();
	}
	ADSM_CUDA_MEMBER unsigned long long num_threads(void) const { return size(); }
	ADSM_CUDA_MEMBER unsigned long long thread_rank(void) const
	{
		const unsigned long long block = blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y *
									   blockIdx.z);

		return kind_ == of_lanes ? (unsigned int)__popc(mask_ & adsm_cuda::lanes_below()) :
		       adsm_cuda::block_rank() + (kind_ == of_grid ? block * adsm_cuda::block_size() : 0);
	}
	ADSM_CUDA_MEMBER bool is_valid(void) const { return true; }
};

/* ---- The block and the grid --------------------------------------------------------------- */

class thread_block : public thread_group {
public:
	ADSM_CUDA_MEMBER thread_block(void) : thread_group(of_block, 0) { }
	static ADSM_CUDA_MEMBER void sync(void) { __syncthreads(); }
	static ADSM_CUDA_MEMBER unsigned int size(void) { return adsm_cuda::block_size(); }
	static ADSM_CUDA_MEMBER unsigned int num_threads(void) { return size(); }
	static ADSM_CUDA_MEMBER unsigned int thread_rank(void) { return adsm_cuda::block_rank(); }
	static ADSM_CUDA_MEMBER dim3 group_index(void) { return blockIdx; }
	static ADSM_CUDA_MEMBER dim3 thread_index(void) { return threadIdx; }
	static ADSM_CUDA_MEMBER dim3 group_dim(void) { return blockDim; }
	static ADSM_CUDA_MEMBER dim3 dim_threads(void) { return blockDim; }
};

class grid_group : public thread_group {
public:
	ADSM_CUDA_MEMBER grid_group(void) : thread_group(of_grid, 0) { }
	static ADSM_CUDA_MEMBER void sync(void) { __adsm_grid_sync(); }
	static ADSM_CUDA_MEMBER dim3 group_dim(void) { return gridDim; }
	static ADSM_CUDA_MEMBER dim3 dim_blocks(void) { return gridDim; }
	static ADSM_CUDA_MEMBER dim3 block_index(void) { return blockIdx; }
	static ADSM_CUDA_MEMBER unsigned long long num_blocks(void) { return adsm_cuda::grid_blocks(); }
	static ADSM_CUDA_MEMBER unsigned long long block_rank(void)
	{
		return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
	}
};

ADSM_CUDA_MEMBER thread_block this_thread_block(void) { return thread_block(); }
ADSM_CUDA_MEMBER grid_group this_grid(void) { return grid_group(); }

/* ---- Lanes of a warp ---------------------------------------------------------------------- */

/* The lanes of a mask, whose ranks are those of the bits in the mask. */
class coalesced_group : public thread_group {
	friend class adsm_group_maker;
	unsigned int meta_size_, meta_rank_;	/* among the groups that a partition made */
	ADSM_CUDA_MEMBER coalesced_group(unsigned int mask, unsigned int meta_size, unsigned int meta_rank) :
		thread_group(of_lanes, mask), meta_size_(meta_size), meta_rank_(meta_rank) { }
	/* From lanes to ranks. */
	ADSM_CUDA_MEMBER unsigned int pack(unsigned int lanes) const
	{
		unsigned int packed = 0;

		for (unsigned int rest = mask_, i = 0; rest; rest &= rest - 1, i++)
			packed |= (lanes >> (__ffs((int)rest) - 1) & 1) << i;
		return packed;
	}
	ADSM_CUDA_MEMBER int lane_of(unsigned int rank) const { return (int)__fns(mask_, 0, (int)rank + 1); }
public:
	ADSM_CUDA_MEMBER void sync(void) const { __syncwarp(mask_); }
	ADSM_CUDA_MEMBER unsigned int size(void) const { return (unsigned int)__popc(mask_); }
	ADSM_CUDA_MEMBER unsigned int num_threads(void) const { return size(); }
	ADSM_CUDA_MEMBER unsigned int thread_rank(void) const
	{
		return (unsigned int)__popc(mask_ & adsm_cuda::lanes_below());
	}
	ADSM_CUDA_MEMBER unsigned int meta_group_size(void) const { return meta_size_; }
	ADSM_CUDA_MEMBER unsigned int meta_group_rank(void) const { return meta_rank_; }
	template <typename T>
	ADSM_CUDA_MEMBER T shfl(T value, unsigned int rank) const
	{
		const int from = lane_of(rank % size());

		return adsm_cuda::by_words(value, [&](unsigned int word) { return __shfl_sync(mask_, word, from); });
	}
	/* Ranks outside of the group leave the thread's own value. */
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_down(T value, unsigned int delta) const
	{
		const unsigned int rank = thread_rank() + delta;
		const int from = rank < size() ? lane_of(rank) : (int)adsm_cuda::lane();

		return adsm_cuda::by_words(value, [&](unsigned int word) { return __shfl_sync(mask_, word, from); });
	}
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_up(T value, unsigned int delta) const
	{
		const unsigned int rank = thread_rank() - delta;
		const int from = rank < size() ? lane_of(rank) : (int)adsm_cuda::lane();

		return adsm_cuda::by_words(value, [&](unsigned int word) { return __shfl_sync(mask_, word, from); });
	}
	ADSM_CUDA_MEMBER int any(int predicate) const { return __any_sync(mask_, predicate); }
	ADSM_CUDA_MEMBER int all(int predicate) const { return __all_sync(mask_, predicate); }
	ADSM_CUDA_MEMBER unsigned int ballot(int predicate) const { return pack(__ballot_sync(mask_, predicate)); }
	template <typename T>
	ADSM_CUDA_MEMBER unsigned int match_any(T value) const { return pack(__match_any_sync(mask_, value)); }
	template <typename T>
	ADSM_CUDA_MEMBER unsigned int match_all(T value, int &predicate) const
	{
		return pack(__match_all_sync(mask_, value, &predicate));
	}
};

/* Lets functions make groups of masks. */
class adsm_group_maker {
public:
	static ADSM_CUDA_MEMBER coalesced_group lanes(unsigned int mask, unsigned int meta_size, unsigned int meta_rank)
	{
		return coalesced_group(mask, meta_size, meta_rank);
	}
	static ADSM_CUDA_MEMBER thread_group any(unsigned int mask)
	{
		return thread_group(thread_group::of_lanes, mask);
	}
	static ADSM_CUDA_MEMBER bool is_block(const thread_group &group)
	{
		return group.kind_ == thread_group::of_block;
	}
	static ADSM_CUDA_MEMBER unsigned int mask(const thread_group &group) { return group.mask_; }
};

ADSM_CUDA_MEMBER coalesced_group coalesced_threads(void) { return adsm_group_maker::lanes(__activemask(), 1, 0); }

template <unsigned int N, typename Parent = void> class thread_block_tile;

/* Where a tile is among the tiles of its parent: of a block, or of a larger tile. */
template <unsigned int N, typename Parent>
class adsm_tile_place {
public:
	static ADSM_CUDA_MEMBER unsigned int meta_group_rank(void) { return adsm_cuda::block_rank() / N; }
	static ADSM_CUDA_MEMBER unsigned int meta_group_size(void) { return (adsm_cuda::block_size() + N - 1) / N; }
};

template <unsigned int N, unsigned int M, typename Parent>
class adsm_tile_place<N, thread_block_tile<M, Parent>> {
public:
	static ADSM_CUDA_MEMBER unsigned int meta_group_rank(void) { return (adsm_cuda::lane() & (M - 1)) / N; }
	static ADSM_CUDA_MEMBER unsigned int meta_group_size(void) { return M / N; }
};

/* The type of the tile does not name its parent. */
template <unsigned int N>
class adsm_tile_place<N, void> {
	unsigned int size_, rank_;
public:
	ADSM_CUDA_MEMBER adsm_tile_place(void) :
		size_(adsm_tile_place<N, thread_block>::meta_group_size()),
		rank_(adsm_tile_place<N, thread_block>::meta_group_rank()) { }
	ADSM_CUDA_MEMBER adsm_tile_place(unsigned int size, unsigned int rank) : size_(size), rank_(rank) { }
	ADSM_CUDA_MEMBER unsigned int meta_group_rank(void) const { return rank_; }
	ADSM_CUDA_MEMBER unsigned int meta_group_size(void) const { return size_; }
};

/* @N threads with neighbouring ranks in a block: 1, 2, 4, 8, 16 or 32. */
template <unsigned int N, typename Parent>
class thread_block_tile : public thread_group, public adsm_tile_place<N, Parent> {
	static_assert(N && N <= 32 && !(N & (N - 1)), "a tile has 1, 2, 4, 8, 16 or 32 threads");
	static ADSM_CUDA_MEMBER unsigned int first(void) { return adsm_cuda::lane() & ~(N - 1); }
	static ADSM_CUDA_MEMBER unsigned int mask(void) { return (0xffffffff >> (32 - N)) << first(); }
public:
	ADSM_CUDA_MEMBER thread_block_tile(void) : thread_group(of_lanes, mask()) { }
	template <typename Other>
	ADSM_CUDA_MEMBER thread_block_tile(const thread_block_tile<N, Other> &tile) : thread_group(of_lanes, mask()),
		adsm_tile_place<N, Parent>(tile.meta_group_size(), tile.meta_group_rank()) { }
	static ADSM_CUDA_MEMBER void sync(void) { __syncwarp(mask()); }
	static constexpr __device__ unsigned int size(void) { return N; }
	static constexpr __device__ unsigned int num_threads(void) { return N; }
	static ADSM_CUDA_MEMBER unsigned int thread_rank(void) { return adsm_cuda::lane() & (N - 1); }
	template <typename T>
	ADSM_CUDA_MEMBER T shfl(T value, int rank) const
	{
		return adsm_cuda::by_words(value, [&](unsigned int word) {
			return __shfl_sync(mask(), word, rank, N);
		});
	}
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_down(T value, unsigned int delta) const
	{
		return adsm_cuda::by_words(value, [&](unsigned int word) {
			return __shfl_down_sync(mask(), word, delta, N);
		});
	}
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_up(T value, unsigned int delta) const
	{
		return adsm_cuda::by_words(value, [&](unsigned int word) {
			return __shfl_up_sync(mask(), word, delta, N);
		});
	}
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_xor(T value, unsigned int with) const
	{
		return adsm_cuda::by_words(value, [&](unsigned int word) {
			return __shfl_xor_sync(mask(), word, (int)with, N);
		});
	}
	ADSM_CUDA_MEMBER int any(int predicate) const { return __any_sync(mask(), predicate); }
	ADSM_CUDA_MEMBER int all(int predicate) const { return __all_sync(mask(), predicate); }
	ADSM_CUDA_MEMBER unsigned int ballot(int predicate) const
	{
		return __ballot_sync(mask(), predicate) >> first();
	}
	template <typename T>
	ADSM_CUDA_MEMBER unsigned int match_any(T value) const { return __match_any_sync(mask(), value) >> first(); }
	template <typename T>
	ADSM_CUDA_MEMBER unsigned int match_all(T value, int &predicate) const
	{
		return __match_all_sync(mask(), value, &predicate) >> first();
	}
	/* A tile is also a group whose size only the program knows. */
	ADSM_CUDA_MEMBER operator coalesced_group(void) const
	{
		return adsm_group_maker::lanes(mask(), this->meta_group_size(), this->meta_group_rank());
	}
};

/* ---- Tiles of several warps --------------------------------------------------------------- */

/* Memory of the block, where the threads of such tiles exchange values. */
template <unsigned int Threads = 1024>
struct block_tile_memory {
	unsigned int words[Threads];
};

class adsm_block_with_memory : public thread_block {
public:
	unsigned int *words;
	ADSM_CUDA_MEMBER explicit adsm_block_with_memory(unsigned int *p) : words(p) { }
};

template <unsigned int Threads>
ADSM_CUDA_MEMBER adsm_block_with_memory this_thread_block(block_tile_memory<Threads> &memory)
{
	return adsm_block_with_memory(memory.words);
}

/* @N threads: 64, 128, 256, 512 or 1024. A tile waits at a barrier of its own, so a block has 15 tiles at most. */
template <unsigned int N>
class adsm_large_tile {
	static_assert(N > 32 && N <= 1024 && !(N & (N - 1)), "a tile has a power of 2 of threads");
	unsigned int *words_;
public:
	ADSM_CUDA_MEMBER explicit adsm_large_tile(const adsm_block_with_memory &block) :
		words_(block.words + adsm_cuda::block_rank() / N * N) { }
	ADSM_CUDA_MEMBER void sync(void) const
	{
		if (meta_group_rank() >= 15)
			__trap();
		__asm__ __volatile__("barrier.sync %0, %1;" : : "r"(1 + meta_group_rank()), "r"(N) : "memory");
	}
	static constexpr __device__ unsigned int size(void) { return N; }
	static constexpr __device__ unsigned int num_threads(void) { return N; }
	static ADSM_CUDA_MEMBER unsigned int thread_rank(void) { return adsm_cuda::block_rank() % N; }
	static ADSM_CUDA_MEMBER unsigned int meta_group_rank(void) { return adsm_cuda::block_rank() / N; }
	static ADSM_CUDA_MEMBER unsigned int meta_group_size(void) { return (adsm_cuda::block_size() + N - 1) / N; }
	/* Another thread's value; the own one if there is no such thread. */
	template <typename T>
	ADSM_CUDA_MEMBER T shfl(T value, unsigned int rank) const
	{
		return adsm_cuda::by_words(value, [&](unsigned int word) {
			words_[thread_rank()] = word;
			sync();
			if (rank < N)
				word = words_[rank];
			sync();
			return word;
		});
	}
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_down(T value, unsigned int delta) const { return shfl(value, thread_rank() + delta); }
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_up(T value, unsigned int delta) const { return shfl(value, thread_rank() - delta); }
	template <typename T>
	ADSM_CUDA_MEMBER T shfl_xor(T value, unsigned int with) const { return shfl(value, thread_rank() ^ with); }
	ADSM_CUDA_MEMBER int any(int predicate) const
	{
		int sum = predicate != 0;

		for (unsigned int with = N / 2; with > 0; with /= 2)
			sum |= shfl_xor(sum, with);
		return sum;
	}
	ADSM_CUDA_MEMBER int all(int predicate) const { return !any(!predicate); }
};

template <unsigned int N, bool is_large> struct adsm_tile_of { typedef adsm_large_tile<N> type; };
template <unsigned int N> struct adsm_tile_of<N, false> { typedef thread_block_tile<N, thread_block> type; };
template <unsigned int N> ADSM_CUDA_MEMBER adsm_large_tile<N> adsm_make_tile(const adsm_block_with_memory &block,
									     adsm_large_tile<N> *)
{
	return adsm_large_tile<N>(block);
}
template <unsigned int N>
ADSM_CUDA_MEMBER thread_block_tile<N, thread_block> adsm_make_tile(const adsm_block_with_memory &,
								   thread_block_tile<N, thread_block> *)
{
	return thread_block_tile<N, thread_block>();
}
template <unsigned int N>
ADSM_CUDA_MEMBER typename adsm_tile_of<N, (N > 32)>::type tiled_partition(const adsm_block_with_memory &block)
{
	return adsm_make_tile(block, (typename adsm_tile_of<N, (N > 32)>::type *)0);
}

/* ---- Groups of groups --------------------------------------------------------------------- */

template <unsigned int N>
ADSM_CUDA_MEMBER thread_block_tile<N, thread_block> tiled_partition(const thread_block &)
{
	return thread_block_tile<N, thread_block>();
}

template <unsigned int N, unsigned int M, typename Parent>
ADSM_CUDA_MEMBER thread_block_tile<N, thread_block_tile<M, Parent>>
tiled_partition(const thread_block_tile<M, Parent> &)
{
	static_assert(N <= M, "a tile of a tile is not larger");
	return thread_block_tile<N, thread_block_tile<M, Parent>>();
}

/* The threads of a block or of a tile, @n each. */
ADSM_CUDA_MEMBER thread_group tiled_partition(const thread_group &parent, unsigned int n)
{
	const unsigned int all = adsm_group_maker::is_block(parent) ? 0xffffffff : adsm_group_maker::mask(parent);
	unsigned int first, mask = 0;

	if (adsm_group_maker::is_block(parent))
		return adsm_group_maker::any((0xffffffff >> (32 - n)) << (adsm_cuda::lane() & ~(n - 1)));
	first = (unsigned int)parent.thread_rank() / n * n;
	for (unsigned int i = first; i < first + n && i < parent.size(); i++)
		mask |= 1u << __fns(all, 0, (int)i + 1);
	return adsm_group_maker::any(mask);
}

ADSM_CUDA_MEMBER coalesced_group tiled_partition(const coalesced_group &parent, unsigned int n)
{
	const thread_group &any = parent;

	return adsm_group_maker::lanes(adsm_group_maker::mask(tiled_partition(any, n)), (parent.size() + n - 1) / n,
				       parent.thread_rank() / n);
}

/* The threads of a group with the same value. The order of these groups is that of their first threads. */
template <typename Group>
ADSM_CUDA_MEMBER coalesced_group labeled_partition(const Group &group, int label)
{
	const unsigned int all = adsm_group_maker::mask(group), mask = __match_any_sync(all, label);
	const unsigned int first = mask & -mask;
	const unsigned int firsts = __ballot_sync(all, (mask & adsm_cuda::lanes_below()) == 0);

	return adsm_group_maker::lanes(mask, (unsigned int)__popc(firsts), (unsigned int)__popc(firsts & (first - 1)));
}

template <typename Group>
ADSM_CUDA_MEMBER coalesced_group binary_partition(const Group &group, bool predicate)
{
	const unsigned int all = adsm_group_maker::mask(group), yes = __ballot_sync(all, predicate);
	const unsigned int mask = predicate ? yes : all & ~yes, others = all & ~mask;

	/* The first group is the one with the lowest lane. */
	return adsm_group_maker::lanes(mask, others ? 2 : 1, others && (others & -others) < (mask & -mask) ? 1 : 0);
}

template <typename Group> ADSM_CUDA_MEMBER void sync(const Group &group) { group.sync(); }
template <typename Group> ADSM_CUDA_MEMBER unsigned long long group_size(const Group &group) { return group.size(); }
template <typename Group> ADSM_CUDA_MEMBER unsigned long long thread_rank(const Group &group)
{
	return group.thread_rank();
}

}

#endif
