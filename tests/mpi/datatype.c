/* SPDX-License-Identifier: MIT */
/* datatype.c - what is not one piece: types with holes, absolute addresses, packing. */
#include "matrix.h"

#include <stdlib.h>

/* Every second piece of that number of bytes. */
static size_t piece(void)
{
	return run.n < 1000 ? 1 : run.n / 100;
}

static size_t n_pieces(void)
{
	return (run.n / piece() + 1) / 2;
}

static bool in_piece(size_t i)
{
	return i / piece() % 2 == 0 && i / piece() / 2 < n_pieces();
}

/* A kernel has written the holes, unless there are too many. */
static bool is_written(size_t i)
{
	return piece() > 1 && !in_piece(i);
}

static unsigned char with_holes(size_t i)
{
	return in_piece(i) ? sent(i, run.before) : (unsigned char)(junk(i) + is_written(i));
}

static MPI_Datatype vector_type(void)
{
	MPI_Datatype type;

	MPI_Type_vector((int)n_pieces(), (int)piece(), (int)(2 * piece()), MPI_BYTE, &type);
	MPI_Type_commit(&type);
	return type;
}

/* Kernels may write the holes of what is being received. */
void op_vector(void)
{
	MPI_Datatype type = vector_type();
	MPI_Request request;

	MPI_Irecv(run.in, 1, type, run.before, 20, MPI_COMM_WORLD, &request);
	for (size_t i = 0; i < run.n; i += piece())
		if (is_written(i))
			add_one_to(run.in + i, run.n - i < piece() ? run.n - i : piece());
	MPI_Send(run.out, 1, type, run.after, 20, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Type_free(&type);
	run.got = run.n;
	run.want = with_holes;
}

/* Absolute addresses, of two objects in one type; what is received is in one piece. */
static unsigned char halves(size_t i)
{
	return sent(i, run.before);
}

void op_bottom(void)
{
	int lengths[2] = { (int)(run.n / 2), (int)(run.n - run.n / 2) };
	MPI_Aint out[2], in[2];
	MPI_Datatype types[2];

	MPI_Get_address(run.out, &out[0]);
	MPI_Get_address(run.out + lengths[0], &out[1]);
	MPI_Get_address(run.in, &in[0]);
	MPI_Get_address(run.in + lengths[0], &in[1]);
	MPI_Type_create_hindexed(2, lengths, out, MPI_BYTE, &types[0]);
	MPI_Type_create_hindexed(2, lengths, in, MPI_BYTE, &types[1]);
	MPI_Type_commit(&types[0]);
	MPI_Type_commit(&types[1]);
	MPI_Sendrecv(MPI_BOTTOM, 1, types[0], run.after, 21, MPI_BOTTOM, 1, types[1], run.before, 21, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Type_free(&types[0]);
	MPI_Type_free(&types[1]);
	run.got = run.n;
	run.want = halves;
}

/* A byte of ordinary memory and the object, by one type. */
void op_struct_of(void)
{
	int lengths[2] = { 1, (int)run.n };
	char out = (char)run.rank, in = -1;
	MPI_Datatype bytes[2] = { MPI_CHAR, MPI_BYTE }, types[2];
	MPI_Aint at[2][2];

	MPI_Get_address(&out, &at[0][0]);
	MPI_Get_address(run.out, &at[0][1]);
	MPI_Get_address(&in, &at[1][0]);
	MPI_Get_address(run.in, &at[1][1]);
	MPI_Type_create_struct(2, lengths, at[0], bytes, &types[0]);
	MPI_Type_create_struct(2, lengths, at[1], bytes, &types[1]);
	MPI_Type_commit(&types[0]);
	MPI_Type_commit(&types[1]);
	MPI_Sendrecv(MPI_BOTTOM, 1, types[0], run.after, 22, MPI_BOTTOM, 1, types[1], run.before, 22, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Type_free(&types[0]);
	MPI_Type_free(&types[1]);
	CHECK_EQ(in, run.before);
	run.got = run.n;
	run.want = halves;
}

/* From the end to the beginning: displacements below zero, an extent that is resized. */
void op_indexed_back(void)
{
	int lengths[2] = { (int)(run.n / 2), (int)(run.n - run.n / 2) }, at[2] = { -lengths[0], 0 };
	MPI_Datatype plain, type;

	MPI_Type_indexed(2, lengths, at, MPI_BYTE, &plain);
	MPI_Type_create_resized(plain, -3, 7, &type);
	MPI_Type_commit(&type);
	MPI_Sendrecv(run.out + lengths[0], 1, type, run.after, 23, run.in + lengths[0], 1, type, run.before, 23,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Type_free(&type);
	MPI_Type_free(&plain);
	run.got = run.n;
	run.want = halves;
}

/* Packed from an object into an object, and back. */
static unsigned char own_pieces(size_t i)
{
	return in_piece(i) ? sent(i, run.rank) : junk(i);
}

void op_pack(void)
{
	MPI_Datatype type = vector_type();
	unsigned char *packed;
	int size, at = 0;

	MPI_Pack_size(1, type, MPI_COMM_WORLD, &size);
	packed = adsmAlloc((size_t)size);
	CHECK(packed);
	MPI_Pack(run.out, 1, type, packed, size, &at, MPI_COMM_WORLD);
	CHECK_OK(adsmMemset(packed + at, 0, (size_t)(size - at)));
	at = 0;
	MPI_Unpack(packed, size, &at, run.in, 1, type, MPI_COMM_WORLD);
	CHECK_OK(adsmFree(packed));
	MPI_Type_free(&type);
	run.got = run.n;
	run.want = own_pieces;
}
