/* SPDX-License-Identifier: MIT */
/* adsmrun_elf.c - examines the program's file: can a library be preloaded, and which APIs does the library follow? */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "adsmrun.h"

#define SCRIPTS_MAX 5		/* limit of interpreters that are scripts, the same as the kernel's */

struct elf {
	const char *data;
	size_t size;
};

/* ---- reading. The file may be invalid, so every offset is checked */

static const void *at(const struct elf *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset ? elf->data + offset : NULL;
}

static const char *string_at(const struct elf *elf, uint64_t offset)
{
	return offset < elf->size && memchr(elf->data + offset, '\0', elf->size - offset) ? elf->data + offset : NULL;
}

/* Returns 0 or an errno. */
static int map(const char *path, struct elf *ret_elf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	struct stat status;
	void *data;

	*ret_elf = (struct elf){ 0 };
	if (fd < 0)
		return errno;
	error = fstat(fd, &status) ? errno : 0;
	if (!error && !status.st_size)
		error = ENOEXEC;
	data = error ? NULL : mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		error = errno;
	close(fd);
	if (!error)
		*ret_elf = (struct elf){ data, (size_t)status.st_size };
	return error;
}

static void unmap(const struct elf *elf)
{
	munmap((void *)(uintptr_t)elf->data, elf->size);
}

static bool is_elf(const struct elf *elf)
{
	return elf->size >= sizeof(ElfW(Ehdr)) && !memcmp(elf->data, ELFMAG, SELFMAG);
}

/* Is the file for this machine? The rest of the code reads only such files. */
static bool is_native(const struct elf *elf)
{
	const ElfW(Ehdr) *header = (const void *)elf->data;
#if defined(__x86_64__)
	const unsigned machine = EM_X86_64;
#else
	const unsigned machine = EM_AARCH64;
#endif

	return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
		header->e_machine == machine && header->e_phentsize == sizeof(ElfW(Phdr)) &&
		(header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

/* The dynamic loader that the file asks for; NULL: none. */
static const char *loader_of(const struct elf *elf)
{
	const ElfW(Ehdr) *header = (const void *)elf->data;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *segment = at(elf, header->e_phoff + i * sizeof(*segment), sizeof(*segment));

		if (segment && segment->p_type == PT_INTERP)
			return string_at(elf, segment->p_offset);
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static void own_loader(char ret_path[PATH_MAX])
{
	const char *loader;
	struct elf elf;

	*ret_path = '\0';
	if (map("/proc/self/exe", &elf))
		return;
	loader = is_elf(&elf) ? loader_of(&elf) : NULL;
	if (loader)
		snprintf(ret_path, PATH_MAX, "%s", loader);
	unmap(&elf);
}

/* ---- can a library be preloaded? */

/* Does the kernel give the program more rights than its caller has? Then the loader ignores LD_PRELOAD. Returns the
 * reason, or NULL. */
static const char *privileges(const char *path)
{
	struct statvfs system;
	struct stat status;

	if (stat(path, &status) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (!statvfs(path, &system) && system.f_flag & ST_NOSUID))
		return NULL;
	if (status.st_mode & S_ISUID && status.st_uid != getuid())
		return "it is a set-user-ID program";
	if (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getgid())
		return "it is a set-group-ID program";
	if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		return "its file has capabilities";
	return NULL;
}

static void examine_elf(const struct elf *elf, struct program *program)
{
	const char *loader = is_native(elf) ? loader_of(elf) : NULL, *why = NULL;
	char own[PATH_MAX];

	own_loader(own);
	if (!is_native(elf))
		why = "it was built for another type of processor";
	else if (!loader && strcmp(base_name(program->elf), base_name(own)))
		why = "it is statically linked";
	else
		why = privileges(program->elf);
	if (why)
		snprintf(program->why_not, sizeof(program->why_not), "%s", why);
	else if (loader && *own && strcmp(base_name(loader), base_name(own)))
		snprintf(program->why_not, sizeof(program->why_not), "it uses another C library (%s)", loader);
}

/* The interpreter in a script's first line, as the kernel reads it. False: the file is no script. */
static bool read_script(const struct elf *elf, char ret_path[PATH_MAX])
{
	const char *line = elf->data + 2, *end;

	if (elf->size < 3 || memcmp(elf->data, "#!", 2))
		return false;
	end = elf->data + elf->size;
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	for (end = line; end < elf->data + elf->size && !strchr(" \t\n", *end); end++)
		;
	snprintf(ret_path, PATH_MAX, "%.*s", (int)(end - line), line);
	return true;
}

int program_examine(struct program *program)
{
	struct elf elf;

	strcpy(program->elf, program->path);
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		int error = map(program->elf, &elf);

		/* A file that cannot be read may still be executed. */
		if (error == EACCES) {
			program->elf[0] = '\0';
			return 0;
		}
		if (error)
			return error;
		if (is_elf(&elf)) {
			examine_elf(&elf, program);
			unmap(&elf);
			return 0;
		}
		if (!read_script(&elf, program->elf))
			error = ENOEXEC;
		unmap(&elf);
		if (error)
			return error;
	}
	return ELOOP;
}

/* ---- the audit: the APIs that files use, and whether the library follows them */

static struct finding {
	const char *name, *patterns, *says;	/* patterns: of the undefined symbols in a file */
	const char *bytes;			/* or bytes anywhere in the file */
	char files[256];
} findings[] = {
	{ "CUDA driver", "cu[A-Z]*", "followed; see --cuda-objects", NULL, "" },
	{ "CUDA runtime", "cuda[A-Z]* __cuda[A-Z]*", "followed, through the driver below it", NULL, "" },
	{ "CUDA, opened", "", "a static runtime, or a driver opened at run time: followed, through dlsym()",
	  "libcuda.so.1", "" },
	{ "OpenCL", "cl[A-Z]*", "the program's buffers are not shared memory; adsm_opencl.h shares objects with OpenCL",
	 NULL, "" },
	{ "MPI", "MPI_[A-Z]* mpi_*_", "followed, by wrappers of its functions if this MPI has them", NULL, "" },
	{ "io_uring", "io_uring_*", "NOT followed: shared memory needs adsmHold()", NULL, "" },
	{ "RDMA", "ibv_* rdma_*", "NOT followed: shared memory needs adsmHold()", NULL, "" },
	{ "syscall()", "syscall", "NOT followed: shared memory needs adsmHold()", NULL, "" },
	{ "Go", "", "NOT followed: it makes its system calls itself", "\xff Go buildinf:", "" },
	{ "dlmopen()", "dlmopen", "NOT followed: libraries that it loads call another libc", NULL, "" },
	{ "dlopen()", "dlopen", "libraries that it loads are followed, too, except with RTLD_DEEPBIND", NULL, "" },
	{ "libadsm", "", "after the C library, because only another library is linked with it: followed by adsmrun; "
	  "without adsmrun, link the program with libadsm", NULL, "" },
	{ "fork()", "fork _Fork clone", "a child may not use shared memory before it calls exec", NULL, "" },
};

#define N_FINDINGS (sizeof(findings) / sizeof(findings[0]))

static void found(struct finding *finding, const char *path)
{
	const char *name = base_name(path);
	size_t n = strlen(name), used = strlen(finding->files);

	/* All symbols of one file come together, so only the last name can be the same. */
	if (used < n || strcmp(finding->files + used - n, name))
		snprintf(finding->files + used, sizeof(finding->files) - used, "%s%s", used ? ", " : "", name);
}

static bool matches(const char *patterns, const char *name)
{
	char pattern[32];

	while (*patterns) {
		size_t n = strcspn(patterns, " ");

		snprintf(pattern, sizeof(pattern), "%.*s", (int)n, patterns);
		if (!fnmatch(pattern, name, 0))
			return true;
		patterns += n + (patterns[n] == ' ');
	}
	return false;
}

static const ElfW(Shdr) *section_at(const struct elf *elf, unsigned i)
{
	const ElfW(Ehdr) *header = (const void *)elf->data;

	return i < header->e_shnum ? at(elf, header->e_shoff + i * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr))) : NULL;
}

static void audit_symbols(const struct elf *elf, const char *path)
{
	const ElfW(Shdr) *section, *strings;

	for (unsigned i = 0; (section = section_at(elf, i)); i++) {
		if (section->sh_type != SHT_DYNSYM || !(strings = section_at(elf, section->sh_link)))
			continue;
		for (uint64_t k = 1; k < section->sh_size / sizeof(ElfW(Sym)); k++) {
			const ElfW(Sym) *symbol = at(elf, section->sh_offset + k * sizeof(*symbol), sizeof(*symbol));
			const char *name = symbol && symbol->st_shndx == SHN_UNDEF ?
				string_at(elf, strings->sh_offset + symbol->st_name) : NULL;

			for (size_t f = 0; name && f < N_FINDINGS; f++)
				if (matches(findings[f].patterns, name))
					found(&findings[f], path);
		}
	}
}

static void audit_order(const char *elf, const char *path, bool *libc)
{
	*libc |= matches("libc.so*", base_name(path));
	for (size_t f = 0; f < N_FINDINGS && *libc && matches("libadsm.so*", base_name(path)); f++)
		if (!strcmp(findings[f].name, "libadsm"))
			found(&findings[f], elf);
}

static void audit_file(const char *path)
{
	struct elf elf;

	/* Not in libc, whose functions the wrappers replace, and not in drivers, which other files use. */
	if (matches("libc.so* libm.so* ld-linux* libpthread.so* libdl.so* librt.so* libadsm.so* libcuda* libOpenCL*",
		    base_name(path)) || map(path, &elf))
		return;
	if (is_elf(&elf) && is_native(&elf)) {
		audit_symbols(&elf, path);
		for (size_t f = 0; f < N_FINDINGS; f++)
			if (findings[f].bytes &&
			    memmem(elf.data, elf.size, findings[f].bytes, strlen(findings[f].bytes)))
				found(&findings[f], path);
	}
	unmap(&elf);
}

/* ---- MPI: which implementation, and whether there are wrappers for it */

/* The next library that a file asks for, from entry *at_number on, whose name begins with @prefix; NULL: none. */
static const char *next_needed(const struct elf *elf, const char *prefix, uint64_t *at_number)
{
	const ElfW(Shdr) *section, *strings;

	for (unsigned i = 0; (section = section_at(elf, i)); i++) {
		if (section->sh_type != SHT_DYNAMIC || !(strings = section_at(elf, section->sh_link)))
			continue;
		while (*at_number < section->sh_size / sizeof(ElfW(Dyn))) {
			const ElfW(Dyn) *entry = at(elf, section->sh_offset + (*at_number)++ * sizeof(*entry),
						    sizeof(*entry));
			const char *name = entry && entry->d_tag == DT_NEEDED ?
				string_at(elf, strings->sh_offset + entry->d_un.d_val) : NULL;

			if (name && !strncmp(name, prefix, strlen(prefix)))
				return name;
		}
	}
	return NULL;
}

/* Are both linked with the same library of MPI? */
static bool share_mpi(const struct elf *program, const char *path)
{
	const char *wanted, *name;
	uint64_t at_wanted = 0, at_name = 0;
	bool found = false;
	struct elf elf;

	if (map(path, &elf))
		return false;
	wanted = is_elf(&elf) && is_native(&elf) ? next_needed(&elf, "libmpi", &at_wanted) : NULL;
	while (wanted && !found && (name = next_needed(program, "libmpi", &at_name)))
		found = !strcmp(name, wanted);
	unmap(&elf);
	return found;
}

void program_find_mpi(const struct program *program, const char *library, char ret_path[PATH_MAX])
{
	/* By their sonames: the names without a version come with the files for development. */
	static const char *const places[] = {
		"libadsm-mpi.so.0", "libadsm-mpi-mpich.so.0", "../interpose/mpi/libadsm-mpi.so.0",
		"../interpose/mpi/libadsm-mpi-mpich.so.0",
	};
	int folder = (int)(base_name(library) - library);
	char path[PATH_MAX];
	struct elf elf;

	*ret_path = '\0';
	if (!*program->elf || map(program->elf, &elf))
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !*ret_path && is_elf(&elf) && is_native(&elf); i++)
		if (snprintf(path, sizeof(path), "%.*s%s", folder, library, places[i]) < PATH_MAX &&
		    share_mpi(&elf, path) && !realpath(path, ret_path))
			*ret_path = '\0';
	/* LD_PRELOAD would be split there. MPI's functions are followed without wrappers, too. */
	if (strpbrk(ret_path, ": "))
		*ret_path = '\0';
	unmap(&elf);
}

/* ---- the audit of libraries */

/* Audit the libraries that the loader would load. The program does not run. */
static void audit_libraries(const char *elf)
{
	char loader[PATH_MAX], *line = NULL;
	bool libc = false;
	size_t size = 0;
	int ends[2];
	FILE *list;
	pid_t pid;

	own_loader(loader);
	if (!*loader || pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		/* As ldd does. The loader's option --list stops at a missing library. */
		dup2(ends[1], STDOUT_FILENO);
		setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
		execl(loader, loader, elf, NULL);
		_exit(RUN_NOT_FOUND);
	}
	close(ends[1]);
	list = fdopen(ends[0], "r");
	while (list && pid > 0 && getline(&line, &size, list) > 0) {
		char *path = strchr(line, '/'), *end = path ? strstr(path, " (0x") : NULL;

		/* "name => path (address)"; the name may be a path, too. */
		if (!end || (strstr(line, " => ") && !(path = strchr(strstr(line, " => "), '/'))))
			continue;
		*end = '\0';
		audit_order(elf, path, &libc);
		audit_file(path);
	}
	free(line);
	if (list)
		fclose(list);
	else
		close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

void program_audit(const struct program *program)
{
	char *elf = *program->elf ? realpath(program->elf, NULL) : NULL;

	fprintf(stderr, "adsmrun: audit of %s\n", program->path);
	if (!elf) {
		fprintf(stderr, "  %-15s cannot be read\n", "file");
		return;
	}
	if (strcmp(program->elf, program->path))
		fprintf(stderr, "  %-15s a script, run by %s\n", "file", program->elf);
	fprintf(stderr, "  %-15s %s%s\n", "preload", *program->why_not ? "NO: " : "yes", program->why_not);
	if (!*program->why_not) {
		audit_file(elf);
		audit_libraries(elf);
		for (size_t i = 0; i < N_FINDINGS; i++)
			if (*findings[i].files)
				fprintf(stderr, "  %-15s %s (%s)\n", findings[i].name, findings[i].says,
					findings[i].files);
		fprintf(stderr, "  %-15s system calls by the program's own instructions; libraries opened and programs "
			"started later\n", "not examined");
	}
	free(elf);
}
