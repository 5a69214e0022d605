/* SPDX-License-Identifier: MIT */
/* recorder.c - the file of a recording, which is mapped piece by piece, and its events. */
#include "observe/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/output.h"
#include "core/input.h"
#include "observe/record.h"
#include "observe/sim.h"

#define EVENT_SIZE sizeof(struct adsm_recording_event)
#define PIECE_EVENTS 65536u
#define PIECE_SIZE (PIECE_EVENTS * EVENT_SIZE)	/* of whole pages */

_Static_assert(PIECE_SIZE % ADSM_PAGE_SIZE == 0, "pieces of the file can be mapped");
_Static_assert(sizeof(struct adsm_recording_header) <= ADSM_RECORDING_HEADER, "the header has room");

static struct {
	struct adsm_lock lock;		/* guards all others */
	_Atomic bool runs;
	struct adsm_fd *own;
	struct adsm_recording_event *piece;	/* the one that is written */
	uint64_t n;			/* events */
} file = { .lock = ADSM_LOCK_INIT(ADSM_RANK_RECORDING) };

/* ---- the file */

/* A file that must not grow is an error here, and no signal. */
static int grow(int fd, uint64_t from, uint64_t size)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && from + size > limit.rlim_cur)
		return -EFBIG;
	if (!syscall(SYS_fallocate, fd, 0, from, size))
		return 0;
	/* Not all file systems can reserve the room. */
	return errno == EOPNOTSUPP && !syscall(SYS_ftruncate, fd, from + size) ? 0 : -errno;
}

/* Map the piece where event file.n is. */
static int map_piece(void)
{
	const int saved_errno = errno, fd = adsm_fd_number(file.own);
	uint64_t offset = ADSM_RECORDING_HEADER + file.n * EVENT_SIZE;
	void *piece;
	int error = fd < 0 ? fd : grow(fd, offset, PIECE_SIZE);

	if (!error)
		error = adsm_os_map(NULL, PIECE_SIZE, fd, offset, ADSM_PROT_RW, &piece);
	errno = saved_errno;
	if (error)
		return error;
	if (file.piece)
		adsm_os_unmap(file.piece, PIECE_SIZE);
	file.piece = piece;
	return 0;
}

/* Give the descriptor and the memory back. The file has no events of kind 0 at its end. */
static void let_go(void)
{
	const int fd = adsm_fd_number(file.own);

	atomic_store(&file.runs, false);
	if (file.piece)
		adsm_os_unmap(file.piece, PIECE_SIZE);
	file.piece = NULL;
	if (fd >= 0 && ftruncate(fd, (off_t)(ADSM_RECORDING_HEADER + file.n * EVENT_SIZE)))
		adsm_debug("the recording ends with empty events");
}

static void put(enum adsm_recording_kind kind, unsigned detail, uint32_t object, uint64_t a, uint64_t b)
{
	int error = atomic_load(&file.runs) && file.n % PIECE_EVENTS == 0 ? map_piece() : 0;

	if (error) {
		let_go();
		adsm_error("ADSM_RECORD: cannot record more: %s", strerror(-error));
	}
	if (!atomic_load(&file.runs))
		return;
	file.piece[file.n++ % PIECE_EVENTS] = (struct adsm_recording_event){
		.kind = (uint8_t)kind, .detail = (uint8_t)detail, .thread = (uint16_t)adsm_os_thread_id(),
		.object = object, .a = a, .b = b,
	};
}

void adsm_recorder_put(enum adsm_recording_kind kind, unsigned detail, uint32_t object, uint64_t a, uint64_t b)
{
	if (!adsm_recorder_runs())
		return;
	adsm_lock(&file.lock);
	put(kind, detail, object, a, b);
	adsm_unlock(&file.lock);
}

bool adsm_recorder_runs(void)
{
	return atomic_load_explicit(&file.runs, memory_order_relaxed);
}

static int write_header(int fd)
{
	char bytes[ADSM_RECORDING_HEADER] = "";
	struct adsm_recording_header header = {
		.magic = ADSM_RECORDING_MAGIC, .version = ADSM_RECORDING_VERSION, .order = ADSM_RECORDING_ORDER,
		.header_size = ADSM_RECORDING_HEADER, .event_size = EVENT_SIZE, .page_size = (uint32_t)ADSM_PAGE_SIZE,
		.library = ADSM_VERSION, .pid = (uint32_t)getpid(), .paper = adsm_paper,
		.block_size = adsm_protocol_options.block_size, .rolling_size = adsm_protocol_options.rolling_size,
		.fault_ahead = adsm_protocol_options.fault_ahead, .evict_batch = adsm_protocol_options.evict_batch,
	};

	adsm_format(header.protocol, sizeof(header.protocol), "%s", adsm_protocol_options.protocol);
	for (unsigned i = 0; adsm_protocol_at(i) && i < ADSM_RECORDING_PROTOCOLS; i++)
		adsm_format(header.protocols[i], sizeof(header.protocols[i]), "%s", adsm_protocol_at(i)->name);
	adsm_format(header.program, sizeof(header.program), "%s", program_invocation_name);
	memcpy(bytes, &header, sizeof(header));
	return pwrite(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) ? 0 : -EIO;
}

int adsm_recorder_open(const char *path)
{
	struct adsm_fd *own = NULL;
	int error = adsm_output_is_new(path) ? 0 : -EINVAL, fd = -1;

	adsm_recorder_close();
	if (!error)
		fd = adsm_output_replace(path);
	if (fd < 0)
		return adsm_fail(error ? error : fd, "ADSM_RECORD: cannot write to %s: %s", path,
				 error ? "it is not a regular file" : strerror(-fd));
	error = write_header(fd);
	if (error)
		close(fd);
	else
		error = adsm_fd_keep(fd, &own);
	if (error)
		return adsm_fail(error, "ADSM_RECORD: cannot write to %s: %s", path, strerror(-error));
	file.own = own;
	file.n = 0;
	atomic_store(&file.runs, true);
	return 0;
}

void adsm_recorder_close(void)
{
	struct adsm_sigset old;

	if (!file.own)
		return;
	adsm_os_signals_block(&old);
	adsm_lock(&file.lock);
	if (adsm_recorder_runs()) {
		put(ADSM_REC_END, 0, 0, 0, 0);
		let_go();
	}
	adsm_unlock(&file.lock);
	adsm_os_signals_restore(&old);
	adsm_fd_drop(file.own);
	file.own = NULL;
}

/* ---- events of objects */

static void put_bulk(const struct adsm_act *act)
{
	const struct adsm_bulk *bulk = act->bulk;
	bool open, libc = adsm_bulk_for_libc(&act->object->blocks, bulk, &open);
	uint32_t id = act->object->record->id;

	if (act->object->blocks.n_holds)
		adsm_recorder_put(ADSM_REC_INEXACT, 0, id, 0, 0);
	adsm_recorder_put(ADSM_REC_BULK_LIMITS, 0, id, bulk->device_min, bulk->step);
	adsm_recorder_put(ADSM_REC_BULK, (bulk->input ? ADSM_REC_BULK_INPUT : 0u) |
			  (bulk->fill ? ADSM_REC_BULK_FILL : 0u) | (bulk->strict ? ADSM_REC_BULK_STRICT : 0u) |
			  (libc ? ADSM_REC_BULK_LIBC : 0u), id, bulk->offset, bulk->size);
}

static bool is_beside(const struct adsm_object *object, bool input)
{
	return object->inputs && (!input || object->inputs->next);
}

void adsm_recorder_act(const struct adsm_act *act)
{
	static const uint8_t kinds[ADSM_N_ACTS] = {
		[ADSM_ACT_ACCESS] = ADSM_REC_ACCESS, [ADSM_ACT_INPUT] = ADSM_REC_INPUT,
		[ADSM_ACT_OUTPUT] = ADSM_REC_OUTPUT, [ADSM_ACT_BULK_END] = ADSM_REC_BULK_END,
		[ADSM_ACT_DEVICE_WROTE] = ADSM_REC_DEVICE_WROTE, [ADSM_ACT_INEXACT] = ADSM_REC_INEXACT,
		[ADSM_ACT_CALLED] = ADSM_REC_CALLED, [ADSM_ACT_ASSIGNED] = ADSM_REC_ASSIGNED,
		[ADSM_ACT_CALLED_ALL] = ADSM_REC_CALLED_ALL, [ADSM_ACT_SYNC] = ADSM_REC_SYNC,
	};
	unsigned detail = act->event == ADSM_EVENT_NONE ? 0 : act->event;

	if (!adsm_recorder_runs())
		return;
	if (act->kind == ADSM_ACT_BULK)
		put_bulk(act);
	if (!kinds[act->kind])
		return;
	if (act->kind == ADSM_ACT_INPUT || act->kind == ADSM_ACT_OUTPUT)
		detail = is_beside(act->object, act->kind == ADSM_ACT_INPUT);
	if (act->kind == ADSM_ACT_ASSIGNED)
		detail = act->at != 0;
	adsm_recorder_put(kinds[act->kind], detail,
			  act->object ? act->object->record->id : (uint32_t)act->home->index, act->at, act->end);
}

static unsigned number_of(const struct adsm_protocol *protocol)
{
	unsigned i = 0;

	while (adsm_protocol_at(i) && adsm_protocol_at(i) != protocol)
		i++;
	return i;
}

void adsm_recorder_made(const struct adsm_record *record)
{
	const struct adsm_object *object = record->object;
	const struct adsm_blocks *blocks = &object->blocks;
	struct adsm_sigset old;
	unsigned detail = (object->device_only ? ADSM_REC_MADE_DEVICE_ONLY : 0) |
		(object->home->device->caps.unified ? ADSM_REC_MADE_UNIFIED : 0) |
		(object->home->has_service ? ADSM_REC_MADE_SERVICE : 0);

	if (!object->device_only)
		detail |= (!blocks->detects || !record->pages ? ADSM_REC_MADE_UNDETECTED : 0) |
			(blocks->at[0].view == ADSM_PERMIT_READ ? ADSM_REC_MADE_POPULATED : 0);
	adsm_os_signals_block(&old);
	adsm_recorder_put(ADSM_REC_MADE, detail, record->id, object->size,
			  adsm_recording_made(blocks->shift, (unsigned)object->home->index,
					      object->device_only ? 0 : number_of(blocks->protocol)));
	adsm_os_signals_restore(&old);
}

void adsm_recorder_named(const struct adsm_record *record)
{
	struct adsm_sigset old;
	uint64_t words[2];

	adsm_os_signals_block(&old);
	for (unsigned at = 0; at < sizeof(record->name); at += sizeof(words)) {
		memcpy(words, record->name + at, sizeof(words));
		adsm_recorder_put(ADSM_REC_NAMED, at / (unsigned)sizeof(words), record->id, words[0], words[1]);
	}
	adsm_os_signals_restore(&old);
}

void adsm_recorder_counted(const struct adsm_record *record, const adsmStats *stats, bool freed)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
#define PUT(i, x, y) adsm_recorder_put(ADSM_REC_COUNTED, i, record->id, stats->x, stats->y);
	ADSM_RECORDING_COUNTERS(PUT)
#undef PUT
	if (freed)
		adsm_recorder_put(ADSM_REC_FREED, 0, record->id, 0, 0);
	adsm_os_signals_restore(&old);
}

static void put_alone(enum adsm_recording_kind kind, uint64_t a)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_recorder_put(kind, 0, 0, a, 0);
	adsm_os_signals_restore(&old);
}

void adsm_recorder_reset(void)
{
	put_alone(ADSM_REC_RESET, 0);
}

void adsm_recorder_missed(void)
{
	put_alone(ADSM_REC_UNRECORDED, 1);
}
