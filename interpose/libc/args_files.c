/* SPDX-License-Identifier: MIT */
/* args_files.c - rows (args.h): files, their names, and what they are like. */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <utime.h>
#include <utmp.h>

#include "args.h"

/* files: paths */
ROW(INTEGER, (S), open, open64, __open_2, __open64_2, creat, creat64, scandir, scandir64, access, eaccess,
    euidaccess, pathconf, chdir, chroot, mkdir, rmdir, unlink, remove, truncate, truncate64, chmod, lchmod,
    chown, lchown, mknod, mkfifo, mkstemp, mkstemp64, mkstemps, mkstemps64, mkostemp, mkostemp64, mkostemps,
    mkostemps64, ftok, acct, umount, umount2, swapon, swapoff, memfd_create, mq_unlink)
ROW(INTEGER, (V, S), openat, openat64, __openat_2, __openat64_2, scandirat, scandirat64, faccessat, mkdirat,
    unlinkat, fchmodat, fchownat, mknodat, __xmknod, mkfifoat, fremovexattr, inotify_add_watch)
ROW(POINTER, (S), fopen, fopen64, freopen, freopen64, opendir, mkdtemp, setmntent)
ROW(INTEGER, (S, S), rename, link, symlink, removexattr, lremovexattr)
ROW(INTEGER, (V, S, V, S), renameat, renameat2, linkat)
ROW(INTEGER, (S, V, S), symlinkat)
ROW(INTEGER, (S, B(2)), readlink, __readlink_chk, listxattr, llistxattr)
ROW(INTEGER, (V, S, B(3)), readlinkat, __readlinkat_chk, fgetxattr)
ROW(POINTER, (B(1)), getcwd, __getcwd_chk)
ROW(INTEGER, (V, V, S), __xmknodat)
ROW(INTEGER, (S, P(struct utimbuf)), utime)
ROW(INTEGER, (S, P(struct timeval[2])), utimes, lutimes)
ROW(INTEGER, (V, S, P(struct timeval[2])), futimesat)
ROW(INTEGER, (V, S, P(struct timespec[2])), utimensat)
ROW(INTEGER, (V, P(struct timespec[2])), futimens)
ROW(INTEGER, (S, S, A(3, char)), setxattr, lsetxattr)
ROW(INTEGER, (V, S, A(3, char)), fsetxattr)
ROW(INTEGER, (S, S, B(3)), getxattr, lgetxattr)
ROW(INTEGER, (V, B(2)), flistxattr)
ROW(INTEGER, (V, S, { COUNTED, 2, 8 }, R(4, BY_HANDLE_AT)), name_to_handle_at)
ROW(INTEGER, (V, { COUNTED, 1, 8 }), open_by_handle_at)
ROW(INTEGER, (V, V, V, V, S), fanotify_mark)
ROW(INTEGER, (S, S, S, V, S), mount)
ROW(INTEGER, (S, V, V, P(struct mq_attr)), mq_open)
ROW(INTEGER, (V, P(struct mq_attr), P(struct mq_attr)), mq_setattr)
ROW(INTEGER, (V, P(struct mq_attr)), mq_getattr)
ROW(INTEGER, (V, P(struct sigevent)), mq_notify)

/* files: what they are like, locks, positions */
ROW(INTEGER, (S, P(struct stat)), stat, stat64, lstat, lstat64)
ROW(INTEGER, (V, P(struct stat)), fstat, fstat64)
ROW(INTEGER, (V, S, P(struct stat)), fstatat, fstatat64, __xstat, __xstat64, __lxstat, __lxstat64)
ROW(INTEGER, (V, V, P(struct stat)), __fxstat, __fxstat64)
ROW(INTEGER, (V, V, S, P(struct stat)), __fxstatat, __fxstatat64)
ROW(INTEGER, (V, S, V, V, P(struct statx)), statx)
ROW(INTEGER, (S, P(struct statfs)), statfs, statfs64)
ROW(INTEGER, (V, P(struct statfs)), fstatfs, fstatfs64)
ROW(INTEGER, (S, P(struct statvfs)), statvfs, statvfs64)
ROW(INTEGER, (V, V, R(1, BY_FCNTL)), fcntl, fcntl64)
ROW(INTEGER, (V, V, P(off_t)), sendfile, sendfile64)
ROW(INTEGER, (V, P(off_t), V, P(off_t)), splice, copy_file_range)
ROW(ERROR, (V, B(2)), ttyname_r, __ttyname_r_chk)
ROW(INTEGER, (V, B(2), V, P(off_t)), getdirentries, getdirentries64)
ROW(INTEGER, (V, S, V, R(0, BY_QUOTACTL)), quotactl)
ROW(INTEGER, (S, S), pivot_root)
#if __GLIBC_PREREQ(2, 36)
ROW(INTEGER, (S), fsopen)
ROW(INTEGER, (V, S), fspick, open_tree)
ROW(INTEGER, (V, S, V, S), move_mount)
ROW(INTEGER, (V, S, V, A(4, char)), mount_setattr)
ROW(INTEGER, (V, V, S, R(1, BY_FSCONFIG)), fsconfig)
#endif
#if __GLIBC_PREREQ(2, 43)
ROW(INTEGER, (V, S, A(3, char)), openat2)
#endif

/* records of who is logged in */
ROW(INTEGER, (S, P(struct utmp)), updwtmp, updwtmpx)
ROW(POINTER, (P(struct utmp)), pututline, pututxline)

/* other names of libc's */
ROW(INTEGER, (S), __open, __open64, __mq_open_2)
ROW(INTEGER, (S, P(struct statfs)), __statfs)
ROW(INTEGER, (V, V, R(1, BY_FCNTL)), __fcntl)
