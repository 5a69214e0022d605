! SPDX-License-Identifier: MIT
! fortran.F90 - operations of MPI by the module mpi_f08, or with TEST_MPIF by mpif.h. fortran.c calls them.
#ifdef TEST_MPIF
#define PREFIX 'mpif_'
#define REQUEST integer
#define DATATYPE integer
#define WINDOW integer
#define FILE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#else
#define PREFIX 'f08_'
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define WINDOW type(MPI_Win)
#define FILE type(MPI_File)
#define STATUS(name) type(MPI_Status) :: name
#endif
#define ARGUMENTS integer(c_int), value :: n, rank, before, after; integer :: ierror
#define BUFFERS integer(c_int8_t), asynchronous :: output(n), input(n)

module OPERATIONS
    use, intrinsic :: iso_c_binding
#ifndef TEST_MPIF
    use mpi_f08
#endif
    implicit none
#ifdef TEST_MPIF
    include 'mpif.h'
#endif

contains
    ! Around the ring one by one: rank 0 sends first.
    subroutine ring(output, input, n, rank, before, after) bind(c, name=PREFIX//'ring')
        ARGUMENTS
        BUFFERS
        STATUS(status)
        integer :: count

        if (rank == 0) call MPI_Send(output, n, MPI_BYTE, after, 1, MPI_COMM_WORLD, ierror)
        call MPI_Recv(input, n, MPI_BYTE, before, 1, MPI_COMM_WORLD, status, ierror)
        call MPI_Get_count(status, MPI_BYTE, count, ierror)
        if (count /= n) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
        if (rank /= 0) call MPI_Ssend(output, n, MPI_BYTE, after, 1, MPI_COMM_WORLD, ierror)
    end subroutine

    subroutine later(output, input, n, rank, before, after) bind(c, name=PREFIX//'later')
        ARGUMENTS
        BUFFERS
        REQUEST :: requests(2)

        call MPI_Irecv(input, n, MPI_BYTE, before, 2, MPI_COMM_WORLD, requests(1), ierror)
        call MPI_Isend(output, n, MPI_BYTE, after, 2, MPI_COMM_WORLD, requests(2), ierror)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    end subroutine

    ! Requests that C has started.
    subroutine finish(handles) bind(c, name=PREFIX//'finish')
        integer(c_int) :: handles(2)
        REQUEST :: requests(2)
        integer :: ierror

#ifdef TEST_MPIF
        requests = handles
#else
        requests%MPI_VAL = handles
#endif
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    end subroutine

    ! The second time the same bytes.
    subroutine persistent(output, input, n, rank, before, after) bind(c, name=PREFIX//'persistent')
        ARGUMENTS
        BUFFERS
        REQUEST :: requests(2)
        logical :: done
        integer :: i

        call MPI_Recv_init(input, n, MPI_BYTE, before, 3, MPI_COMM_WORLD, requests(1), ierror)
        call MPI_Send_init(output, n, MPI_BYTE, after, 3, MPI_COMM_WORLD, requests(2), ierror)
        do i = 1, 2
            call MPI_Startall(2, requests, ierror)
            call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
            done = .false.
            do while (.not. done)
                call MPI_Test(requests(1), done, MPI_STATUS_IGNORE, ierror)
            end do
        end do
        call MPI_Request_free(requests(1), ierror)
        call MPI_Request_free(requests(2), ierror)
    end subroutine

    ! Every second byte, as a section of the array. The compiler or MPI handles the holes.
    subroutine section(output, input, n, rank, before, after) bind(c, name=PREFIX//'section')
        ARGUMENTS
        BUFFERS

        call MPI_Sendrecv(output(1:n:2), (n + 1) / 2, MPI_BYTE, after, 4, input(1:n:2), (n + 1) / 2, MPI_BYTE, &
            before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    end subroutine

    ! Every second byte, as a datatype.
    subroutine vector(output, input, n, rank, before, after) bind(c, name=PREFIX//'vector')
        ARGUMENTS
        BUFFERS
        DATATYPE :: bytes
        REQUEST :: request

        call MPI_Type_vector((n + 1) / 2, 1, 2, MPI_BYTE, bytes, ierror)
        call MPI_Type_commit(bytes, ierror)
        call MPI_Irecv(input, 1, bytes, before, 5, MPI_COMM_WORLD, request, ierror)
        call MPI_Send(output, 1, bytes, after, 5, MPI_COMM_WORLD, ierror)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call MPI_Type_free(bytes, ierror)
    end subroutine

    subroutine bottom(output, input, n, rank, before, after) bind(c, name=PREFIX//'bottom')
        ARGUMENTS
        BUFFERS
        integer(MPI_ADDRESS_KIND) :: places(1)
        DATATYPE :: sent, received
        integer :: lengths(1)

        lengths(1) = n
        call MPI_Get_address(output, places(1), ierror)
        call MPI_Type_create_hindexed(1, lengths, places, MPI_BYTE, sent, ierror)
        call MPI_Type_commit(sent, ierror)
        call MPI_Get_address(input, places(1), ierror)
        call MPI_Type_create_hindexed(1, lengths, places, MPI_BYTE, received, ierror)
        call MPI_Type_commit(received, ierror)
        call MPI_Sendrecv(MPI_BOTTOM, 1, sent, after, 6, MPI_BOTTOM, 1, received, before, 6, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE, ierror)
        call MPI_Type_free(sent, ierror)
        call MPI_Type_free(received, ierror)
    end subroutine

    subroutine bcast(output, input, n, rank, before, after) bind(c, name=PREFIX//'bcast')
        ARGUMENTS
        BUFFERS

        call MPI_Bcast(output, n, MPI_BYTE, 0, MPI_COMM_WORLD, ierror)
    end subroutine

    subroutine allreduce(output, input, n, rank, before, after) bind(c, name=PREFIX//'allreduce')
        ARGUMENTS
        BUFFERS
        REQUEST :: request

        call MPI_Iallreduce(output, input, n, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, request, ierror)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call MPI_Allreduce(MPI_IN_PLACE, output, n, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, ierror)
    end subroutine

    subroutine window(output, input, n, rank, before, after) bind(c, name=PREFIX//'window')
        ARGUMENTS
        BUFFERS
        integer(MPI_ADDRESS_KIND), parameter :: start = 0
        WINDOW :: win

        call MPI_Win_create(input, int(n, MPI_ADDRESS_KIND), 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
        call MPI_Win_fence(0, win, ierror)
        call MPI_Put(output, n, MPI_BYTE, after, start, n, MPI_BYTE, win, ierror)
        call MPI_Win_fence(0, win, ierror)
        call MPI_Win_free(win, ierror)
    end subroutine

    subroutine file(output, input, n, rank, before, after) bind(c, name=PREFIX//'file')
        ARGUMENTS
        BUFFERS
        FILE :: handle

        call MPI_File_open(MPI_COMM_WORLD, 'file', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, handle, ierror)
        call MPI_File_write_at_all(handle, int(n, MPI_OFFSET_KIND) * rank, output, n, MPI_BYTE, MPI_STATUS_IGNORE, &
            ierror)
        call MPI_File_sync(handle, ierror)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call MPI_File_sync(handle, ierror)
        call MPI_File_read_at_all(handle, int(n, MPI_OFFSET_KIND) * before, input, n, MPI_BYTE, MPI_STATUS_IGNORE, &
            ierror)
        call MPI_File_close(handle, ierror)
    end subroutine
end module
