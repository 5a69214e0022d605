/* SPDX-License-Identifier: MIT */
/* args_sized.c - see args_sized.h. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/sem.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "args_sized.h"
#include "base/os.h"
#include "range.h"

/* Newer than the headers of the oldest system that this is built on. */
#define PRCTL_GET_AUXV 0x41555856
#define FSCONFIG_STRING 1
#define FSCONFIG_BINARY 2
#define FSCONFIG_PATH 3
#define FSCONFIG_PATH_EMPTY 4

static long fcntl_size(int command)
{
	switch (command) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return sizeof(struct flock);
	case F_GETOWN_EX:
	case F_SETOWN_EX:
		return sizeof(struct f_owner_ex);
	case 17:			/* F_GETOWNER_UIDS */
		return 2 * sizeof(uid_t);
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
	case F_GET_FILE_RW_HINT:
	case F_SET_FILE_RW_HINT:
		return sizeof(uint64_t);
	default:
		return 0;
	}
}

/* Not the filter of PR_SET_SECCOMP, which names memory of its own. */
static long prctl_size(int i, const long *args)
{
	switch ((int)args[0]) {
	case PR_SET_NAME:
		return i == 1 ? SIZED_TEXT : 0;
	case PR_GET_NAME:
		return i == 1 ? 16 : 0;
	case PR_GET_PDEATHSIG:
	case PR_GET_TSC:
	case PR_GET_UNALIGN:
	case PR_GET_FPEMU:
	case PR_GET_FPEXC:
	case PR_GET_ENDIAN:
	case PR_GET_CHILD_SUBREAPER:
		return i == 1 ? (long)sizeof(int) : 0;
	case PR_GET_TID_ADDRESS:
		return i == 1 ? (long)sizeof(int *) : 0;
	case PRCTL_GET_AUXV:
		return i == 1 ? args[2] : 0;
	case PR_SET_MM:
		return i == 2 && args[1] == PR_SET_MM_MAP ? args[3] : i == 2 && args[1] == PR_SET_MM_MAP_SIZE ?
			(long)sizeof(unsigned) : i == 2 && args[1] == PR_SET_MM_AUXV ? args[3] : 0;
	case PR_SCHED_CORE:
		return i == 4 && args[1] == PR_SCHED_CORE_GET ? (long)sizeof(uint64_t) : 0;
	case PR_SET_VMA:
		return i == 4 && args[4] ? SIZED_TEXT : 0;
	default:
		return 0;
	}
}

/* The vectors of PTRACE_GETREGSET and PTRACE_SETREGSET are copied, what they name has to be in ordinary memory. */
static long ptrace_size(int i, const long *args)
{
	struct __ptrace_peeksiginfo_args many;
	long n;

	switch ((unsigned)args[0]) {
#ifdef __x86_64__
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
		return i == 3 ? (long)sizeof(struct user_regs_struct) : 0;
	case PTRACE_GETFPREGS:
	case PTRACE_SETFPREGS:
		return i == 3 ? (long)sizeof(struct user_fpregs_struct) : 0;
	case 25:			/* PTRACE_GET_THREAD_AREA, and SET_ */
	case 26:
		return i == 3 ? 16 : 0;
#endif
	case PTRACE_GETSIGINFO:
	case PTRACE_SETSIGINFO:
		return i == 3 ? (long)sizeof(siginfo_t) : 0;
	case PTRACE_GETEVENTMSG:
		return i == 3 ? (long)sizeof(unsigned long) : 0;
	case PTRACE_GETREGSET:
	case PTRACE_SETREGSET:
		return i == 3 ? (long)sizeof(struct iovec) : 0;
	case PTRACE_PEEKSIGINFO:
		if (i == 2)
			return sizeof(many);
		return adsm_range_take(&many, (const void *)args[2], sizeof(many)) || many.nr < 0 ? 0 :
			many.nr * (long)sizeof(siginfo_t);
	case PTRACE_GETSIGMASK:
	case PTRACE_SETSIGMASK:
	case PTRACE_GET_SYSCALL_INFO:
	case 0x420d:			/* PTRACE_SECCOMP_GET_METADATA */
	case 0x420f:			/* PTRACE_GET_RSEQ_CONFIGURATION */
	case 0x4210:			/* PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG, and GET_ */
	case 0x4211:
	case 0x4212:			/* PTRACE_SET_SYSCALL_INFO */
		return i == 3 ? args[2] : 0;
	case 0x420c:			/* PTRACE_SECCOMP_GET_FILTER: the system says how many */
		n = i == 3 ? ptrace(0x420c, (pid_t)args[1], args[2], NULL) : 0;
		return n > 0 ? n * (long)sizeof(uint64_t) : 0;
	default:
		return 0;
	}
}

static long arch_prctl_size(int code)
{
	switch (code) {
	case 0x1003:			/* ARCH_GET_FS, ARCH_GET_GS */
	case 0x1004:
	case 0x1021:			/* ARCH_GET_XCOMP_SUPP, _PERM, _GUEST_PERM */
	case 0x1022:
	case 0x1024:
	case 0x4001:			/* ARCH_GET_UNTAG_MASK, ARCH_GET_MAX_TAG_BITS */
	case 0x4003:
	case 0x5005:			/* ARCH_SHSTK_STATUS */
		return sizeof(uint64_t);
	default:
		return 0;
	}
}

static long fsconfig_size(const long *args)
{
	switch ((unsigned)args[1]) {
	case FSCONFIG_STRING:
	case FSCONFIG_PATH:
	case FSCONFIG_PATH_EMPTY:
		return SIZED_TEXT;
	case FSCONFIG_BINARY:
		return (int)args[4] > 0 ? (int)args[4] : 0;
	default:
		return 0;
	}
}

/* What it points to begins with its size; 0 is that of the first version. */
static long sched_attr_size(const void *attr)
{
	uint32_t size;
	int error = attr ? adsm_range_take(&size, attr, sizeof(size)) : -EINVAL;

	if (error)
		return error;
	return !size ? 48 : size < sizeof(size) ? (long)sizeof(size) : (long)size;
}

union semun {
	int val;
	struct semid_ds *buf;
};

static long semctl_size(const long *args)
{
	struct semid_ds set = { .sem_nsems = 0 };

	switch ((int)args[2]) {
	case IPC_STAT:
	case IPC_SET:
	case SEM_STAT:
	case SEM_STAT_ANY:
		return sizeof(set);
	case IPC_INFO:
	case SEM_INFO:
		return sizeof(struct seminfo);
	case GETALL:
	case SETALL:
		/* Where the set may not be looked at, nor is it read or written. */
		return semctl((int)args[0], 0, IPC_STAT, (union semun){ .buf = &set }) ? 0 :
			(long)(set.sem_nsems * sizeof(unsigned short));
	default:
		return 0;
	}
}

static long quotactl_size(const long *args)
{
	switch ((unsigned)args[0] >> SUBCMDSHIFT) {
	case Q_QUOTAON:
		return SIZED_TEXT;
	case Q_GETFMT:
		return sizeof(uint32_t);
	case Q_GETINFO:
	case Q_SETINFO:
		return sizeof(struct dqinfo);
	case Q_GETQUOTA:
	case Q_SETQUOTA:
		return sizeof(struct dqblk);
	case 0x800009:			/* Q_GETNEXTQUOTA */
		return sizeof(struct dqblk) + 8;
	default:
		return 0;
	}
}

long adsm_args_sized(enum rule rule, int i, int n, const long *args)
{
	switch (rule) {
	case BY_FCNTL:
		return fcntl_size((int)args[n]);
	case BY_PRCTL:
		return prctl_size(i, args);
	case BY_PTRACE:
		return ptrace_size(i, args);
	case BY_SEMCTL:
		return semctl_size(args);
	case BY_QUOTACTL:
		return quotactl_size(args);
	case BY_ARCH_PRCTL:
		return arch_prctl_size((int)args[n]);
	case BY_FSCONFIG:
		return fsconfig_size(args);
	case BY_HANDLE_AT:		/* AT_HANDLE_MNT_ID_UNIQUE */
		return args[n] & 1 ? sizeof(uint64_t) : sizeof(int);
	case BY_SCHED_ATTR:
		return sched_attr_size((const void *)args[i]);
	case BY_MINCORE:
		return (long)(((size_t)args[n] + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE);
	}
	return 0;
}
