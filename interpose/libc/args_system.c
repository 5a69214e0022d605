/* SPDX-License-Identifier: MIT */
/* args_system.c - rows (args.h): sockets, time, the process, the system. */
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
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
#include <sys/uio.h>
#include <termios.h>
#include <time.h>

#include "args.h"

/* sockets, pipes, readiness */
ROW(INTEGER, (V, I(2, char)), connect, bind)
ROW(INTEGER, (V, { COUNTED, 2, 0 }, P(socklen_t)), accept, accept4, getsockname, getpeername)
ROW(INTEGER, (V, V, V, { COUNTED, 4, 0 }, P(socklen_t)), getsockopt)
ROW(INTEGER, (V, V, V, I(4, char)), setsockopt)
ROW(INTEGER, (V, V, V, P(int[2])), socketpair)
ROW(INTEGER, (P(int[2])), pipe, pipe2)
ROW(INTEGER, (A(1, struct pollfd)), poll, __poll_chk)
ROW(INTEGER, (V, { BITS, 0, 8 }, { BITS, 0, 8 }, { BITS, 0, 8 }, P(struct timeval)), select)
ROW(INTEGER, (V, V, V, P(struct epoll_event)), epoll_ctl)
ROW(INTEGER, (V, I(2, struct epoll_event)), epoll_wait)

ROW(INTEGER, (V, A(2, struct sembuf)), semop)
ROW(INTEGER, (V, A(2, struct sembuf), V, P(struct timespec)), semtimedop)
ROW(INTEGER, (V, V, V, R(2, BY_SEMCTL)), semctl)
ROW(INTEGER, (V, V, P(struct msqid_ds)), msgctl)
ROW(INTEGER, (V, V, P(struct shmid_ds)), shmctl)

/* time */
ROW(INTEGER, (P(struct timespec), P(struct timespec)), nanosleep, thrd_sleep)
ROW(ERROR, (V, V, P(struct timespec), P(struct timespec)), clock_nanosleep)
ROW(INTEGER, (V, P(struct timespec)), clock_gettime, clock_settime, clock_getres)
ROW(INTEGER, (P(struct timeval), P(struct timezone)), gettimeofday)
ROW(INTEGER, (P(struct timex)), adjtimex, ntp_adjtime)
ROW(INTEGER, (V, P(struct timex)), clock_adjtime)
ROW(INTEGER, (V, P(struct itimerval)), getitimer)
ROW(INTEGER, (V, P(struct itimerval), P(struct itimerval)), setitimer)
ROW(INTEGER, (V, P(struct itimerspec)), timer_gettime, timerfd_gettime)
ROW(INTEGER, (V, V, P(struct itimerspec), P(struct itimerspec)), timer_settime, timerfd_settime)
ROW(INTEGER, (P(struct tms)), times)

/* the process, its threads and the system */
ROW(INTEGER, (V, P(struct rlimit)), getrlimit, getrlimit64, setrlimit, setrlimit64)
ROW(INTEGER, (V, V, P(struct rlimit), P(struct rlimit)), prlimit, prlimit64)
ROW(INTEGER, (V, P(struct rusage)), getrusage)
ROW(INTEGER, (V, I(0, gid_t)), getgroups, __getgroups_chk)
ROW(INTEGER, (V, A(0, gid_t)), setgroups)
ROW(INTEGER, (P(uid_t), P(uid_t), P(uid_t)), getresuid)
ROW(INTEGER, (P(gid_t), P(gid_t), P(gid_t)), getresgid)
ROW(INTEGER, (V, V, A(1, char)), sched_getaffinity, sched_setaffinity)
ROW(INTEGER, (V, P(struct sched_param)), sched_getparam, sched_setparam)
ROW(INTEGER, (V, V, P(struct sched_param)), sched_setscheduler)
ROW(INTEGER, (V, P(struct timespec)), sched_rr_get_interval)
ROW(ERROR, (V, V, A(1, char)), pthread_getaffinity_np, pthread_setaffinity_np)
ROW(ERROR, (V, V, P(struct sched_param)), pthread_setschedparam)
ROW(ERROR, (V, B(2)), pthread_getname_np)
ROW(ERROR, (V, S), pthread_setname_np)
ROW(INTEGER, (P(sigset_t)), sigpending)
ROW(ERROR, (P(sigset_t), P(int)), sigwait)
ROW(INTEGER, (P(sigset_t), P(siginfo_t)), sigwaitinfo)
ROW(INTEGER, (P(sigset_t), P(siginfo_t), P(struct timespec)), sigtimedwait)
ROW(INTEGER, (V, P(sigset_t)), signalfd)
ROW(INTEGER, (P(struct utsname)), uname)
ROW(INTEGER, (P(struct sysinfo)), sysinfo)
ROW(INTEGER, (A(1, char)), sethostname, setdomainname)
ROW(INTEGER, (V, R(0, BY_PRCTL), R(0, BY_PRCTL), V, R(0, BY_PRCTL)), prctl)
#ifdef __x86_64__
ROW(INTEGER, (V, R(0, BY_ARCH_PRCTL)), arch_prctl, __arch_prctl)
ROW(INTEGER, (V, A(2, char)), modify_ldt)
#endif
ROW(INTEGER, (V, V, R(0, BY_PTRACE), R(0, BY_PTRACE)), ptrace)
ROW(INTEGER, (P(struct __user_cap_header_struct), P(struct __user_cap_data_struct[2])), capget, capset)
ROW(INTEGER, (A(1, char), V, S), init_module)
ROW(INTEGER, (S), delete_module)
ROW(INTEGER, (V, I(2, char)), klogctl)
ROW(INTEGER, (P(struct timeval), P(struct timezone)), settimeofday)
ROW(INTEGER, (P(struct timespec)), timespec_get, timespec_getres)
ROW(INTEGER, (P(unsigned), P(unsigned)), getcpu)
ROW(INTEGER, (V, V, R(1, BY_MINCORE)), mincore)
ROW(INTEGER, (V, V, P(siginfo_t)), pidfd_send_signal)
ROW(INTEGER, (P(int), P(int), V, P(struct termios), P(struct winsize)), openpty)
#if __GLIBC_PREREQ(2, 41)
ROW(INTEGER, (V, I(2, char)), sched_getattr)
ROW(INTEGER, (V, R(1, BY_SCHED_ATTR)), sched_setattr)
#endif

/* the names of hosts: answers come straight from the network */
ROW(INTEGER, (V, V, V, I(4, char)), res_query, res_search)
ROW(INTEGER, (V, V, V, V, I(5, char)), res_querydomain, res_nquery, res_nsearch)
ROW(INTEGER, (I(1, char), V, I(3, char)), res_send)
ROW(INTEGER, (V, I(2, char), V, I(4, char)), res_nsend)

/* other names of libc's */
ROW(INTEGER, (V, I(2, char)), __connect)
ROW(INTEGER, (P(int[2])), __pipe)
ROW(INTEGER, (A(1, struct pollfd)), __poll)
ROW(INTEGER, (V, { BITS, 0, 8 }, { BITS, 0, 8 }, { BITS, 0, 8 }, P(struct timeval)), __select)
ROW(INTEGER, (P(struct timespec), P(struct timespec)), __nanosleep)
ROW(INTEGER, (P(struct timeval), P(struct timezone)), __gettimeofday)
ROW(INTEGER, (P(struct timex)), __adjtimex)
ROW(INTEGER, (V, P(struct sched_param)), __sched_getparam)
ROW(INTEGER, (V, V, P(struct sched_param)), __sched_setscheduler)
