/* SPDX-License-Identifier: MIT */
/* remote.c - memory that other ranks read and write, and files. */
#include "matrix.h"

#include <stdlib.h>

static unsigned char from_before(size_t i)
{
	return sent(i, run.before);
}

static unsigned char from_after(size_t i)
{
	return sent(i, run.after);
}

static void came(want_function *want)
{
	run.got = run.n;
	run.want = want;
}

/* ---- windows */

static MPI_Win window(unsigned char *p)
{
	MPI_Win win;

	MPI_Win_create(p, (MPI_Aint)run.n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	return win;
}

void op_put(void)
{
	MPI_Win win = window(run.in);

	MPI_Win_fence(0, win);
	MPI_Put(run.out, (int)run.n, MPI_BYTE, run.after, 0, (int)run.n, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	came(from_before);
}

void op_get(void)
{
	MPI_Win win = window(run.out);

	MPI_Win_fence(0, win);
	MPI_Get(run.in, (int)run.n, MPI_BYTE, run.after, 0, (int)run.n, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	came(from_after);
}

void op_rput(void)
{
	MPI_Win win = window(run.in);
	MPI_Request request;

	MPI_Win_lock_all(0, win);
	MPI_Rput(run.out, (int)run.n, MPI_BYTE, run.after, 0, (int)run.n, MPI_BYTE, win, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
	came(from_before);
}

void op_rget(void)
{
	MPI_Win win = window(run.out);
	MPI_Request request;

	MPI_Win_lock_all(0, win);
	MPI_Rget(run.in, (int)run.n, MPI_BYTE, run.after, 0, (int)run.n, MPI_BYTE, win, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	came(from_after);
}

/* The first byte twice, so that the second time goes to a page that is open. */
static unsigned char added(size_t i)
{
	return (unsigned char)(i ? junk(i) ^ sent(i, run.before) : junk(i));
}

void op_accumulate(void)
{
	MPI_Win win = window(run.in);

	for (int i = 0; i < 2; i++) {
		MPI_Win_fence(0, win);
		MPI_Accumulate(run.out, i ? 1 : (int)run.n, MPI_UNSIGNED_CHAR, run.after, 0, i ? 1 : (int)run.n,
			       MPI_UNSIGNED_CHAR, MPI_BXOR, win);
	}
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	came(added);
}

/* What was there comes here, and what is here is added there. */
static unsigned char before_and_own(size_t i)
{
	return sent(i, run.rank) ^ sent(i, run.before);
}

void op_get_accumulate(void)
{
	unsigned char *copy = malloc(run.n);
	MPI_Win win = window(run.out);

	for (size_t i = 0; i < run.n; i++)
		copy[i] = sent(i, run.rank);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, run.after, 0, win);
	MPI_Get_accumulate(copy, (int)run.n, MPI_UNSIGNED_CHAR, run.in, (int)run.n, MPI_UNSIGNED_CHAR, run.after, 0,
			   (int)run.n, MPI_UNSIGNED_CHAR, MPI_BXOR, win);
	MPI_Win_unlock(run.after, win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
	free(copy);
	came(from_after);
	run.out_want = before_and_own;
}

/* Locks, a byte by fetch-and-op, and what groups start and post. */
static unsigned char put_and_added(size_t i)
{
	return (unsigned char)(from_before(i) + (i == run.n / 2 ? 1 : 0));
}

void op_passive(void)
{
	unsigned char one = 1, old = 0;
	MPI_Win win = window(run.in);
	MPI_Group all, before, after;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &run.before, &before);
	MPI_Group_incl(all, 1, &run.after, &after);
	MPI_Win_post(before, 0, win);
	MPI_Win_start(after, 0, win);
	MPI_Put(run.out, (int)run.n, MPI_BYTE, run.after, 0, (int)run.n, MPI_BYTE, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, run.after, 0, win);
	MPI_Fetch_and_op(&one, &old, MPI_UNSIGNED_CHAR, run.after, (MPI_Aint)(run.n / 2), MPI_SUM, win);
	MPI_Win_flush(run.after, win);
	MPI_Win_unlock(run.after, win);
	CHECK_EQ(old, sent(run.n / 2, run.rank));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
	MPI_Group_free(&all);
	MPI_Group_free(&before);
	MPI_Group_free(&after);
	came(put_and_added);
}

void op_dynamic(void)
{
	MPI_Aint here, there;
	MPI_Win win;

	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_attach(win, run.in, (MPI_Aint)run.n);
	MPI_Get_address(run.in, &here);
	MPI_Sendrecv(&here, 1, MPI_AINT, run.before, 30, &there, 1, MPI_AINT, run.after, 30, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Win_fence(0, win);
	MPI_Put(run.out, (int)run.n, MPI_BYTE, run.after, there, (int)run.n, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	MPI_Win_detach(win, run.in);
	MPI_Win_free(&win);
	came(from_before);
}

/* ---- files, in the folder that the test runs in */

static MPI_File open_file(void)
{
	MPI_File file;

	CHECK_EQ(MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
		 MPI_SUCCESS);
	return file;
}

static void between(MPI_File file)
{
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_sync(file);
}

void op_file(void)
{
	MPI_File file = open_file();

	MPI_File_write_at_all(file, (MPI_Offset)(run.n * (size_t)run.rank), run.out, (int)run.n, MPI_BYTE,
			      MPI_STATUS_IGNORE);
	between(file);
	MPI_File_read_at_all(file, (MPI_Offset)(run.n * (size_t)run.before), run.in, (int)run.n, MPI_BYTE,
			     MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	came(from_before);
}

void op_file_later(void)
{
	MPI_File file = open_file();
	MPI_Request request;

	MPI_File_iwrite_at(file, (MPI_Offset)(run.n * (size_t)run.rank), run.out, (int)run.n, MPI_BYTE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	between(file);
	MPI_File_iread_at(file, (MPI_Offset)(run.n * (size_t)run.after), run.in, (int)run.n, MPI_BYTE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	came(from_after);
}

/* By the file pointer of all ranks, in their order; and by one's own, into pieces that a view names. */
void op_file_shared(void)
{
	MPI_File file = open_file();
	MPI_Datatype type;

	MPI_Type_vector((int)run.n, 1, run.size, MPI_BYTE, &type);
	MPI_Type_commit(&type);
	MPI_File_set_view(file, run.rank, MPI_BYTE, type, "native", MPI_INFO_NULL);
	MPI_File_write_all(file, run.out, (int)run.n, MPI_BYTE, MPI_STATUS_IGNORE);
	between(file);
	MPI_File_set_view(file, run.before, MPI_BYTE, type, "native", MPI_INFO_NULL);
	MPI_File_read(file, run.in, (int)run.n, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	MPI_Type_free(&type);
	came(from_before);
}
