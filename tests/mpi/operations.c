/* SPDX-License-Identifier: MIT */
/* operations.c - the operations of matrix.c that are in C. */
#include "matrix.h"

#define OP(name_) { .name = #name_, .run = op_##name_ }
#define SMALL(name_) { .name = #name_, .run = op_##name_, .most = 1 << 20 }
#define SLOW(name_) { .name = #name_, .run = op_##name_, .most = 1 << 12 }
#define HUGE_TOO(name_) { .name = #name_, .run = op_##name_, .huge = true }
#define MANY(name_) { .name = #name_, .run = op_##name_, .most = 16 << 20, .many = true }
#define WINDOW(name_) { .name = #name_, .run = op_##name_, .window = true }
#define HUGE_WINDOW(name_) { .name = #name_, .run = op_##name_, .window = true, .huge = true }

const struct operation operations[] = {
	OP(send), OP(ssend), SMALL(bsend), HUGE_TOO(isend), OP(any), OP(sendrecv), OP(replace),
	OP(persistent), OP(probe), OP(cancel), OP(freed),
	HUGE_TOO(bcast), OP(ibcast), MANY(gather), MANY(allgather), MANY(allgather_in_place), MANY(allgatherv),
	OP(scatter), OP(alltoall), OP(alltoallw), OP(reduce), OP(allreduce), OP(allreduce_in_place),
	HUGE_TOO(iallreduce), OP(scan), OP(reduce_scatter),
	HUGE_TOO(vector), OP(bottom), OP(struct_of), OP(indexed_back), OP(pack),
	HUGE_WINDOW(put), WINDOW(get), WINDOW(rput), WINDOW(rget), WINDOW(accumulate), WINDOW(get_accumulate),
	WINDOW(passive), WINDOW(dynamic),
	HUGE_TOO(file), OP(file_later), SLOW(file_shared),
	{ .name = NULL },
};
