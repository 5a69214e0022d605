/* SPDX-License-Identifier: MIT */
/* args_system.c - rows (args.h): sockets, time, the process, the system. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include "args.h"

/* sockets, pipes, readiness */
ROW(connect, INTEGER, V, I(2, char))
ROW(bind, INTEGER, V, I(2, char))
ROW(accept, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(accept4, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(getsockname, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(getpeername, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(getsockopt, INTEGER, V, V, V, { COUNTED, 4, 0 }, P(socklen_t))
ROW(setsockopt, INTEGER, V, V, V, I(4, char))
ROW(socketpair, INTEGER, V, V, V, P(int[2]))
ROW(pipe, INTEGER, P(int[2]))
ROW(pipe2, INTEGER, P(int[2]))
ROW(poll, INTEGER, A(1, struct pollfd))
ROW(__poll_chk, INTEGER, A(1, struct pollfd))
ROW(select, INTEGER, V, { BITS, 0, 8 }, { BITS, 0, 8 }, { BITS, 0, 8 }, P(struct timeval))
ROW(epoll_ctl, INTEGER, V, V, V, P(struct epoll_event))
ROW(epoll_wait, INTEGER, V, I(2, struct epoll_event))

ROW(semop, INTEGER, V, A(2, struct sembuf))
ROW(semtimedop, INTEGER, V, A(2, struct sembuf), V, P(struct timespec))
ROW(msgctl, INTEGER, V, V, P(struct msqid_ds))
ROW(shmctl, INTEGER, V, V, P(struct shmid_ds))

/* time */
ROW(nanosleep, INTEGER, P(struct timespec), P(struct timespec))
ROW(thrd_sleep, INTEGER, P(struct timespec), P(struct timespec))
ROW(clock_nanosleep, ERROR, V, V, P(struct timespec), P(struct timespec))
ROW(clock_gettime, INTEGER, V, P(struct timespec))
ROW(clock_settime, INTEGER, V, P(struct timespec))
ROW(clock_getres, INTEGER, V, P(struct timespec))
ROW(gettimeofday, INTEGER, P(struct timeval), P(struct timezone))
ROW(adjtimex, INTEGER, P(struct timex))
ROW(ntp_adjtime, INTEGER, P(struct timex))
ROW(clock_adjtime, INTEGER, V, P(struct timex))
ROW(getitimer, INTEGER, V, P(struct itimerval))
ROW(setitimer, INTEGER, V, P(struct itimerval), P(struct itimerval))
ROW(timer_gettime, INTEGER, V, P(struct itimerspec))
ROW(timer_settime, INTEGER, V, V, P(struct itimerspec), P(struct itimerspec))
ROW(timerfd_gettime, INTEGER, V, P(struct itimerspec))
ROW(timerfd_settime, INTEGER, V, V, P(struct itimerspec), P(struct itimerspec))
ROW(times, INTEGER, P(struct tms))

/* the process, its threads and the system */
ROW(getrlimit, INTEGER, V, P(struct rlimit))
ROW(getrlimit64, INTEGER, V, P(struct rlimit))
ROW(setrlimit, INTEGER, V, P(struct rlimit))
ROW(setrlimit64, INTEGER, V, P(struct rlimit))
ROW(prlimit, INTEGER, V, V, P(struct rlimit), P(struct rlimit))
ROW(prlimit64, INTEGER, V, V, P(struct rlimit), P(struct rlimit))
ROW(getrusage, INTEGER, V, P(struct rusage))
ROW(getgroups, INTEGER, V, I(0, gid_t))
ROW(__getgroups_chk, INTEGER, V, I(0, gid_t))
ROW(setgroups, INTEGER, V, A(0, gid_t))
ROW(getresuid, INTEGER, P(uid_t), P(uid_t), P(uid_t))
ROW(getresgid, INTEGER, P(gid_t), P(gid_t), P(gid_t))
ROW(sched_getaffinity, INTEGER, V, V, A(1, char))
ROW(sched_setaffinity, INTEGER, V, V, A(1, char))
ROW(sched_getparam, INTEGER, V, P(struct sched_param))
ROW(sched_setparam, INTEGER, V, P(struct sched_param))
ROW(sched_setscheduler, INTEGER, V, V, P(struct sched_param))
ROW(sched_rr_get_interval, INTEGER, V, P(struct timespec))
ROW(pthread_getaffinity_np, ERROR, V, V, A(1, char))
ROW(pthread_setaffinity_np, ERROR, V, V, A(1, char))
ROW(pthread_setschedparam, ERROR, V, V, P(struct sched_param))
ROW(pthread_getname_np, ERROR, V, B(2))
ROW(pthread_setname_np, ERROR, V, S)
ROW(sigpending, INTEGER, P(sigset_t))
ROW(sigwait, ERROR, P(sigset_t), P(int))
ROW(sigwaitinfo, INTEGER, P(sigset_t), P(siginfo_t))
ROW(sigtimedwait, INTEGER, P(sigset_t), P(siginfo_t), P(struct timespec))
ROW(signalfd, INTEGER, V, P(sigset_t))
ROW(uname, INTEGER, P(struct utsname))
ROW(sysinfo, INTEGER, P(struct sysinfo))
ROW(sethostname, INTEGER, A(1, char))
ROW(setdomainname, INTEGER, A(1, char))
