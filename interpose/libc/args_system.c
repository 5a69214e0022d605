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
ROW(semctl, INTEGER, V, V, V, R(2, BY_SEMCTL))
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
ROW(prctl, INTEGER, V, R(0, BY_PRCTL), R(0, BY_PRCTL), V, R(0, BY_PRCTL))
#ifdef __x86_64__
ROW(arch_prctl, INTEGER, V, R(0, BY_ARCH_PRCTL))
ROW(__arch_prctl, INTEGER, V, R(0, BY_ARCH_PRCTL))
ROW(modify_ldt, INTEGER, V, A(2, char))
#endif
ROW(ptrace, INTEGER, V, V, R(0, BY_PTRACE), R(0, BY_PTRACE))
ROW(capget, INTEGER, P(struct __user_cap_header_struct), P(struct __user_cap_data_struct[2]))
ROW(capset, INTEGER, P(struct __user_cap_header_struct), P(struct __user_cap_data_struct[2]))
ROW(init_module, INTEGER, A(1, char), V, S)
ROW(delete_module, INTEGER, S)
ROW(klogctl, INTEGER, V, I(2, char))
ROW(settimeofday, INTEGER, P(struct timeval), P(struct timezone))
ROW(timespec_get, INTEGER, P(struct timespec))
ROW(timespec_getres, INTEGER, P(struct timespec))
ROW(getcpu, INTEGER, P(unsigned), P(unsigned))
ROW(mincore, INTEGER, V, V, R(1, BY_MINCORE))
ROW(process_madvise, INTEGER, V, A(2, struct iovec))
ROW(pidfd_send_signal, INTEGER, V, V, P(siginfo_t))
ROW(openpty, INTEGER, P(int), P(int), V, P(struct termios), P(struct winsize))
#if __GLIBC_PREREQ(2, 41)
ROW(sched_getattr, INTEGER, V, I(2, char))
ROW(sched_setattr, INTEGER, V, { COUNTED, 1, 0 })
#endif

/* the names of hosts: answers come straight from the network */
ROW(res_query, INTEGER, V, V, V, I(4, char))
ROW(res_search, INTEGER, V, V, V, I(4, char))
ROW(res_querydomain, INTEGER, V, V, V, V, I(5, char))
ROW(res_send, INTEGER, I(1, char), V, I(3, char))
ROW(res_nquery, INTEGER, V, V, V, V, I(5, char))
ROW(res_nsearch, INTEGER, V, V, V, V, I(5, char))
ROW(res_nsend, INTEGER, V, I(2, char), V, I(4, char))

/* other names of libc's */
ROW(__connect, INTEGER, V, I(2, char))
ROW(__pipe, INTEGER, P(int[2]))
ROW(__poll, INTEGER, A(1, struct pollfd))
ROW(__select, INTEGER, V, { BITS, 0, 8 }, { BITS, 0, 8 }, { BITS, 0, 8 }, P(struct timeval))
ROW(__nanosleep, INTEGER, P(struct timespec), P(struct timespec))
ROW(__gettimeofday, INTEGER, P(struct timeval), P(struct timezone))
ROW(__adjtimex, INTEGER, P(struct timex))
ROW(__sched_getparam, INTEGER, V, P(struct sched_param))
ROW(__sched_setscheduler, INTEGER, V, V, P(struct sched_param))
