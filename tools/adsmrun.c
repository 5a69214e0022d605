/* SPDX-License-Identifier: MIT */
/* adsmrun.c - checks options, starts a program with the library preloaded, and ends as the program did. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adsm.h"
#include "adsmrun.h"
#include "base/log.h"
#include "observe/options.h"
#include "start/options.h"

static const char usage[] =
	"usage: adsmrun [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	"Run a program with libadsm preloaded.\n"
	"\n"
	"  --stats               report what moved and why, on standard error when the program has ended\n"
	"  --stats=text:FILE     write the report to a file\n"
	"  --stats=json:FILE     write the report to a file, as JSON\n"
	"  --trace FILE          write a timeline in Chrome's trace-event format, for Perfetto\n"
	"  --record FILE         write a recording, which adsm-replay replays with other settings\n"
	"  --html FILE           write a page with the report, heat maps and the timeline, for a browser\n"
	"  --advise              also report what would help, and by how much\n"
	"  --audit               before the program runs, report which of its functions the library can follow\n"
	"  --nodes N             run on a cluster of N nodes (--backend cluster --cluster-nodes N)\n"
	"  --hosts FILE          hosts of the cluster: a file with a host in each line, or a list (--cluster-hosts)\n"
	"  --list                show the devices, and the options with their values; run nothing\n"
	"  --help, --version\n"
	"\n"
	"Every option of the library is also an option of adsmrun: --block-size 4K or --block-size=4K sets\n"
	"ADSM_BLOCK_SIZE=4K. Each process that uses shared memory writes its own report and trace. The first process\n"
	"replaces FILE; later ones write FILE.PID.\n"
	"\n"
	"The exit status is the program's. A signal that ends the program also ends adsmrun. Otherwise:\n"
	"  2    an option is invalid\n"
	"  125  adsmrun failed\n"
	"  126  the program cannot be executed, or the library cannot be preloaded into it\n"
	"  127  the program does not exist\n"
	"\n";

/* ---- options */

struct request {
	bool audit, list;
	bool observe;		/* reports or traces are wanted, so adsmrun stays until the program has ended */
	bool files;		/* --files was given */
	const char *html;	/* the page to write; NULL: none */
};

static int set_option(const char *name, const char *value)
{
	char variable[64] = "ADSM_";
	size_t n = strlen(variable);

	if (adsm_options_set(name, value)) {
		complain("%s", adsm_last_error());
		return RUN_USAGE;
	}
	for (; *name; name++)
		variable[n++] = (char)(*name == '-' ? '_' : toupper((unsigned char)*name));
	variable[n] = '\0';
	if (!setenv(variable, value, 1))
		return 0;
	complain("cannot set %s: %s", variable, strerror(errno));
	return RUN_FAILED;
}

/* Set an option of the command line. */
static int take_option(const char *name, const char *value)
{
	int status;

	if (!strcmp(name, "hosts"))
		return set_option("cluster-hosts", value);
	if (strcmp(name, "nodes"))
		return set_option(name, value);
	status = set_option("cluster-nodes", value);
	return status ? status : set_option("backend", "cluster");
}

static _Noreturn void print_and_exit(bool help)
{
	int version = ADSM_VERSION;

	if (help) {
		adsm_options_load();
		fputs(usage, stdout);
		adsm_options_print(stdout, ADSM_OPTIONS_COMMON);
	} else {
		printf("adsmrun (libadsm) %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
	}
	exit(fflush(stdout) ? RUN_FAILED : 0);
}

/* *ret_next: the index of the first argument that is not an option of adsmrun. Returns 0 or a status. */
static int parse(int argc, char **argv, struct request *request, int *ret_next)
{
	int i = 1, status = 0;

	for (; i < argc && argv[i][0] == '-' && argv[i][1] && !status; i++) {
		char *name = argv[i] + 2, *equals = strchr(name, '=');
		const char *value = equals ? equals + 1 : NULL;

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version")) {
			print_and_exit(argv[i][2] == 'h');
		} else if (!strcmp(argv[i], "--audit")) {
			request->audit = true;
		} else if (!strcmp(argv[i], "--list")) {
			request->list = true;
		} else if (argv[i][1] != '-') {
			complain("unknown option %s; adsmrun --help lists all options", argv[i]);
			status = RUN_USAGE;
		} else {
			if (equals)
				*equals = '\0';
			if (!value)
				value = !strcmp(name, "stats") ? "text" : !strcmp(name, "advise") ? "1" : argv[++i];
			if (value && !strcmp(name, "html")) {
				request->html = value;
				request->observe = true;
			} else if (value) {
				status = take_option(name, value);
			} else {
				complain("--%s needs a value", name);
				status = RUN_USAGE;
			}
			request->observe |= !strcmp(name, "stats") || !strcmp(name, "trace") ||
				!strcmp(name, "advise") || !strcmp(name, "record");
			request->files |= !strcmp(name, "files");
		}
	}
	*ret_next = i;
	if (!status && request->files && (request->observe || request->html)) {
		complain("--files cannot be combined with --stats, --trace, --record, --advise or --html: then adsmrun "
			 "chooses the files");
		status = RUN_USAGE;
	}
	return status;
}

/* Check all option values, also those of the environment, and whether they fit together. */
static int check_environment(void)
{
	const char *level = getenv("ADSM_LOG");
	int error = level && *level ? adsm_options_set("log", level) : 0;

	/* The library is silent here, because the error is printed below, whatever the log level is. */
	if (!error) {
		adsm_options_set("log", "silent");
		error = adsm_options_load();
	}
	if (!error)
		return 0;
	complain("%s", adsm_last_error());
	return RUN_USAGE;
}

/* ---- the program and the library */

/* *ret_path: @rest in the folder of adsmrun. Returns 0 or a status. */
static int beside(const char *rest, char ret_path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0) {
		complain("cannot read /proc/self/exe: %s", strerror(errno));
		return RUN_FAILED;
	}
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	if (snprintf(ret_path, PATH_MAX, "%s/%s", self, rest) < PATH_MAX)
		return 0;
	complain("the path of adsmrun is too long");
	return RUN_FAILED;
}

/* Search as execvp() does. ENOENT: nothing is found; EACCES: the file that is found may not be executed. */
static int find_program(const char *name, char ret_path[PATH_MAX])
{
	const char *path = strchr(name, '/') ? NULL : getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin";
	int error = ENOENT;

	if (!*name)
		return ENOENT;
	do {
		size_t n = path ? strcspn(path, ":") : 0;
		struct stat status;

		if (snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)n, n ? path : "", n ? "/" : "", name) >= PATH_MAX)
			error = ENAMETOOLONG;
		else if (stat(ret_path, &status))
			error = errno == ENOENT || errno == ENOTDIR || error == EACCES ? error : errno;
		else if (S_ISREG(status.st_mode) && !eaccess(ret_path, X_OK))
			return 0;
		else
			error = !path && S_ISDIR(status.st_mode) ? EISDIR : EACCES;
		path = path && path[n] ? path + n + 1 : NULL;
	} while (path);
	return error;
}

static int find_library(char ret_path[PATH_MAX])
{
	/* Relative to an installed adsmrun, in the build folder, and in the configured folder. */
	static const char *const places[] = { ADSM_LIBRARY_RELATIVE, ("../lib/" ADSM_LIBRARY), ADSM_LIBRARY_INSTALLED };
	char path[PATH_MAX], *name;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i][0] == '/')
			snprintf(path, sizeof(path), "%s", places[i]);
		else if (beside(places[i], path))
			return RUN_FAILED;
		name = strrchr(path, '/') + 1;
		if (access(path, R_OK))
			continue;
		/* Keep the name: programs linked with the library ask for it by this name. */
		name[-1] = '\0';
		if (realpath(path, ret_path) && strlen(ret_path) + strlen(name) + 2 <= PATH_MAX) {
			strcat(strcat(ret_path, "/"), name);
			return 0;
		}
	}
	complain(ADSM_LIBRARY " was not found: neither as %s or in ../lib, relative to adsmrun, nor as %s", places[0],
		 places[2]);
	return RUN_FAILED;
}

bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Add an entry to a list, which is freed. NULL: no memory. */
static char *add_entry(char *list, const char *entry)
{
	char *longer;

	if (!list || asprintf(&longer, "%s%s%s", list, *list && *entry ? ":" : "", entry) < 0)
		longer = NULL;
	free(list);
	return longer;
}

/* A list of libraries to preload, after @old_list: with the library, and behind it the one of MPI's wrappers (@mpi; "":
 * none), which are otherwise removed. If the library is there already, its place is kept: it may have to be behind a
 * sanitizer, for instance. NULL: no memory. */
static char *new_list(const char *old_list, const char *library, const char *written, const char *mpi, bool *ret_there)
{
	char *list = strdup(""), *found = list ? strdup("") : NULL, *old = strdup(old_list), *rest, *entry;
	bool same = !*mpi;

	*ret_there = false;
	entry = old ? strtok_r(old, ": ", &rest) : NULL;
	for (; entry && found; entry = strtok_r(NULL, ": ", &rest)) {
		const char *name = strrchr(entry, '/') ? strrchr(entry, '/') + 1 : entry;

		if (!*ret_there && same_file(entry, library)) {
			*ret_there = true;
			found = add_entry(add_entry(found, entry), mpi);
		} else if (strncmp(name, "libadsm.so", 10) && strncmp(name, "libadsm-mpi", 11)) {
			found = add_entry(found, entry);
		} else {
			same = false;
		}
	}
	if (!*ret_there)
		list = add_entry(add_entry(list, written), mpi);
	if (found && old) {
		list = add_entry(list, *ret_there && same ? old_list : found);
	} else {
		free(list);
		list = NULL;
	}
	free(found);
	free(old);
	return list;
}

/* Put the library first into LD_PRELOAD, if it is not there yet. Behind it comes the library of MPI wrappers, if there
 * is one for the MPI that the program is linked with. Another libadsm is removed from the list. */
static int preload(const char *library, const struct program *program)
{
	const char *old_list = getenv("LD_PRELOAD"), *old_folders = getenv("LD_LIBRARY_PATH");
	const char *name = strrchr(library, '/');
	bool spaces = strchr(library, ' '), there;
	char *list, *folders = NULL, mpi[PATH_MAX];
	int error = 0;

	if (strchr(library, ':') || (spaces && strchr(library, ';'))) {
		complain("%s: a library whose path contains a colon, or a space and a semicolon, cannot be preloaded",
			 library);
		return RUN_FAILED;
	}
	/* LD_PRELOAD is split at spaces, LD_LIBRARY_PATH is not. */
	if (spaces && asprintf(&folders, "%.*s%s%s", (int)(name - library), library,
			       old_folders && *old_folders ? ":" : "", old_folders ? old_folders : "") < 0)
		folders = NULL;
	program_find_mpi(program, library, mpi);
	list = new_list(old_list ? old_list : "", library, spaces ? name + 1 : library, mpi, &there);
	if (!list || (spaces && !folders))
		error = ENOMEM;
	else if (setenv("LD_PRELOAD", list, 1) || (spaces && !there && setenv("LD_LIBRARY_PATH", folders, 1)))
		error = errno;
	if (error)
		complain("cannot set LD_PRELOAD: %s", strerror(error));
	free(list);
	free(folders);
	return error ? RUN_FAILED : 0;
}

/* ---- the run */

static int cannot_execute(const char *name, int error)
{
	complain("cannot run %s: %s", name, strerror(error));
	return error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

/*
 * The program and adsmrun are in one process group. A signal from the terminal reaches both, and adsmrun ignores it. A
 * signal that another process sends to adsmrun is passed on to the program. So is an alarm that was set before adsmrun
 * began. adsmrun cannot detect whether a signal was sent to the whole group. Then the program gets it twice, which is
 * better than not at all.
 */
static void pass_on(pid_t child, const siginfo_t *info)
{
	bool sent = info->si_code <= 0 && info->si_code != SI_TIMER && info->si_pid != child;

	if (!sent && info->si_signo != SIGALRM)
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(child, info->si_signo, info->si_value);
	else
		kill(child, info->si_signo);
}

/* The program has stopped. Stop adsmrun, too, so that the shell detects it. Returns when adsmrun is continued. */
static void stop_with(int signal_number)
{
	struct sigaction action = { .sa_handler = SIG_DFL }, old;
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal_number);
	sigaction(signal_number, &action, &old);
	raise(signal_number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
	sigaction(signal_number, &old, NULL);
}

/* Wait until the child has ended, with the signals in @all blocked. Returns its status. */
static int supervise(pid_t child, const sigset_t *all)
{
	sigset_t pending;
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(all, &info) < 0)
			continue;
		while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
			if (!WIFSTOPPED(status))
				return status;
			/* If the whole job has been continued meanwhile, do not stop: the program will run soon. */
			sigpending(&pending);
			if (info.si_signo == SIGCONT || sigismember(&pending, SIGCONT))
				continue;
			stop_with(WSTOPSIG(status));
			/* The signal that stopped both has been obeyed, and is not passed on. */
			if (info.si_signo == SIGTSTP || info.si_signo == SIGTTIN || info.si_signo == SIGTTOU)
				info.si_signo = SIGCHLD;
		}
		if (info.si_signo != SIGCHLD)
			pass_on(child, &info);
	}
}

/* Start the program and wait for it: 0, or the status of adsmrun's own failure. */
static int run(const char *path, char **argv, struct outcome *outcome)
{
	struct sigaction action = { .sa_handler = SIG_DFL }, old_action;
	struct timespec start, now;
	sigset_t all, old;
	int report[2], error = 0, fd;

	/* All signals are blocked, for sigwaitinfo(). There are no handlers, and the program inherits no change. */
	clock_gettime(CLOCK_MONOTONIC, &start);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	sigaction(SIGCHLD, &action, &old_action);
	if (pipe2(report, O_CLOEXEC) || (outcome->pid = fork()) < 0) {
		complain("cannot start a process: %s", strerror(errno));
		return RUN_FAILED;
	}
	if (!outcome->pid) {
		sigaction(SIGCHLD, &old_action, NULL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		execv(path, argv);
		error = errno;
		_exit(write(report[1], &error, sizeof(error)) < 0);
	}
	close(report[1]);
	while (read(report[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(report[0]);
	/* Make sure that no file opened later becomes one of the three standard streams. */
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	outcome->status = supervise(outcome->pid, &all);
	clock_gettime(CLOCK_MONOTONIC, &now);
	outcome->seconds = (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
	return error ? cannot_execute(outcome->name, error) : 0;
}

/* End as the program did, for the process that waits for adsmrun. */
static _Noreturn void end_as(int status)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t one;

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_DUMPABLE, 0);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	/* Reached in the first process of a container, which such a signal does not end. */
	exit(128 + WTERMSIG(status));
}

/* Become adsm-info, which shows the devices and the options. */
static int list(void)
{
	char path[PATH_MAX];

	if (beside("adsm-info", path))
		return RUN_FAILED;
	execl(path, path, NULL);
	complain("cannot run %s: %s", path, strerror(errno));
	return RUN_FAILED;
}

int main(int argc, char **argv)
{
	struct request request = { 0 };
	struct program program = { 0 };
	struct outcome outcome = { 0 };
	char library[PATH_MAX];
	int next, status, error;

	status = parse(argc, argv, &request, &next);
	if (!status)
		status = check_environment();
	if (status)
		return status;
	request.observe &= *adsm_observe_options.stats || *adsm_observe_options.trace || *adsm_observe_options.record ||
		adsm_observe_options.advice || request.html;
	if (request.list)
		return list();
	argv += next;
	if (!*argv) {
		complain("the program is missing; see adsmrun --help");
		return RUN_USAGE;
	}
	outcome.name = argv[0];
	error = find_program(argv[0], program.path);
	if (error)
		return cannot_execute(argv[0], error);
	error = program_examine(&program);
	if (error)
		return cannot_execute(program.elf, error);	/* may be a script's interpreter */
	if (find_library(library))
		return RUN_FAILED;
	if (request.audit)
		program_audit(&program);
	if (*program.why_not) {
		complain("cannot preload a library into %s: %s", argv[0], program.why_not);
		return RUN_CANNOT_EXECUTE;
	}
	status = preload(library, &program);
	if (!status && request.observe)
		status = files_prepare(request.html, &program);
	if (status)
		return status;
	fflush(NULL);
	if (!request.observe) {
		execv(program.path, argv);
		return cannot_execute(argv[0], errno);
	}
	status = run(program.path, argv, &outcome);
	if (status) {
		files_discard();
		return status;
	}
	files_finish(&outcome);
	fflush(NULL);
	end_as(outcome.status);
}
