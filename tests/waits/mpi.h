/* SPDX-License-Identifier: MIT */
/* mpi.h - the declarations of MPI that the doorbell's start needs to compile. No model calls that function. */
#ifndef TEST_MPI_H
#define TEST_MPI_H

typedef int MPI_Comm, MPI_Info, MPI_Datatype, MPI_Op;

enum { MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, MPI_INFO_NULL, MPI_BYTE, MPI_INT, MPI_MIN };
#define MPI_IN_PLACE ((void *)1)

int MPI_Comm_split_type(MPI_Comm of, int type, int key, MPI_Info info, MPI_Comm *comm);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int n_to, MPI_Datatype type_to, MPI_Comm comm);
int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

#endif
