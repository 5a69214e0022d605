/* SPDX-License-Identifier: MIT */
/* overlay.c - see overlay.h. */
#include "overlay.h"

#include "adsm_scratchpad.h"
#include "base/log.h"
#include "heap.h"
#include "notes.h"
#include "partition.h"
#include "process/device/code.h"
#include "process/device/crash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BUFFERS ADSM_POLICY_MAX_BUFFERS

struct adsm_overlay {
	void *bytes;			/* of the image */
	struct adsm_image image;
	uint64_t number;		/* counts all overlays; 0 stands for none */
	uint32_t module;
	bool ready;
	uint32_t n_buffers;		/* once it is ready */
	uint64_t library;		/* bytes of functions of libm in the code buffer */
	uint64_t beside;		/* bytes of the code buffer that are no code in partitions, with these */
	uint32_t rooms;			/* a bit for each setting that it fits with */
	struct adsm_partitions *managers[ADSM_SCRATCHPAD_MAX_CORES];
	struct adsm_heap heaps[ADSM_SCRATCHPAD_MAX_CORES];	/* of malloc(), in the room of the victim entry */
	struct adsm_policy_log *logs[ADSM_SCRATCHPAD_MAX_CORES];	/* one for each core; NULL: not recorded */
};

static struct adsm_process_shared *served;
static struct adsm_scratchpad_overlays how;
static uint64_t code_size;		/* bytes of a core's code buffer */
static unsigned n_cores;
/* The overlay whose code is in the buffer; used only by its core. */
static uint64_t owners[ADSM_SCRATCHPAD_MAX_CORES];
static struct {
	uintptr_t window;
	uint8_t *code;
	struct adsm_overlay *runs;	/* the overlay that owns the code buffer; NULL: other code */
} cores[ADSM_SCRATCHPAD_MAX_CORES];

static struct adsm_scratchpad_shared *extra(void)
{
	return (struct adsm_scratchpad_shared *)served->extra;
}

void adsm_overlay_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_overlays *its_how,
			const struct adsm_scratchpad_layout *layout, unsigned n)
{
	served = shared;
	how = *its_how;
	code_size = layout->code;
	n_cores = n;
	extra()->overlays = how;
}

int adsm_overlay_create(const void *image, size_t size, struct adsm_overlay **ret_overlay,
			char ret_text[ADSM_PROCESS_TEXT])
{
	static uint64_t n_created;
	struct adsm_overlay *overlay = calloc(1, sizeof(*overlay));
	int ret = -ENOMEM;

	if (!overlay)
		return ret;
	overlay->bytes = malloc(size);
	if (!overlay->bytes)
		goto destroy;
	memcpy(overlay->bytes, image, size);
	ret = adsm_image_check(overlay->bytes, size, &overlay->image, ret_text, ADSM_PROCESS_TEXT);
	if (ret)
		goto destroy;
	overlay->number = ++n_created;
	*ret_overlay = overlay;
	return 0;

destroy:
	adsm_overlay_destroy(overlay);
	return ret;
}

static void destroy_managers(struct adsm_overlay *overlay)
{
	for (unsigned i = 0; i < ADSM_SCRATCHPAD_MAX_CORES; i++) {
		adsm_partition_destroy(overlay->managers[i]);
		overlay->managers[i] = NULL;
		adsm_policy_log_destroy(overlay->logs[i]);
		overlay->logs[i] = NULL;
	}
}

void adsm_overlay_destroy(struct adsm_overlay *overlay)
{
	if (!overlay)
		return;
	/* The application waited for the end of all launches that used it. This load orders the threads of this
	 * process, too. */
	if (overlay->ready)
		atomic_load(&served->queue.done);
	destroy_managers(overlay);
	free(overlay->bytes);
	free(overlay);
}

void adsm_overlay_core(unsigned core, const void *window, void *code)
{
	cores[core].window = (uintptr_t)window;
	cores[core].code = code;
}

/*
 * ---- malloc() and free() of code in partitions: their memory is the room of the victim entry. While the program has
 * memory, there is no victim entry (OPELL, section 5.3).
 */

/* The core that runs this: its stack is in its window. */
static unsigned own_core(void)
{
	const uintptr_t window = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(ADSM_STORE_WINDOW - 1);
	unsigned i = 0;

	while (i < n_cores && cores[i].window != window)
		i++;
	return i;
}

static void *local_alloc(size_t size)
{
	const unsigned core = own_core();
	struct adsm_overlay *overlay = core < n_cores ? cores[core].runs : NULL;
	struct adsm_heap *heap = overlay ? &overlay->heaps[core] : NULL;
	void *p;

	if (!heap || !heap->size)
		return NULL;
	if (heap->n_used)
		return adsm_heap_alloc(heap, size);
	/* The heap's memory is not that of the entry, but stands for it: the first block takes the entry away. */
	p = adsm_heap_alloc(heap, size);
	if (p)
		adsm_partition_victim(overlay->managers[core], false);
	return p;
}

static void local_free(void *p)
{
	const unsigned core = own_core();
	struct adsm_overlay *overlay = core < n_cores ? cores[core].runs : NULL;

	/* The last block: a victim entry is possible again. */
	if (overlay && overlay->heaps[core].n_used) {
		adsm_heap_free(&overlay->heaps[core], p);
		if (!overlay->heaps[core].n_used)
			adsm_partition_victim(overlay->managers[core], true);
	}
}

/* At the begin of a launch: memory that an earlier one did not free is free again. */
static void free_all(struct adsm_overlay *overlay, unsigned core)
{
	if (overlay->heaps[core].n_used)
		adsm_partition_victim(overlay->managers[core], true);
	overlay->heaps[core].n_used = 0;
}

static void create_heaps(struct adsm_overlay *overlay, const struct adsm_partition_config *config)
{
	const size_t size = adsm_partition_victim_needs(config);

	for (unsigned i = 0; i < n_cores; i++) {
		/* The address need only be in the code buffer: the code itself is executed at other addresses. */
		uint8_t *end = cores[i].code + code_size;

		overlay->heaps[i].base = (uint8_t *)(((uintptr_t)end - size) & ~(uintptr_t)15);
		overlay->heaps[i].size = size;
	}
}

/* Resolve what the image lacks: functions and variables are where the loader has put the code in one piece. */
static void *resolve(void *context, const char *name)
{
	const struct adsm_overlay *overlay = context;

	if (!strcmp(name, "malloc"))
		return (void *)(uintptr_t)local_alloc;
	if (!strcmp(name, "free"))
		return (void *)(uintptr_t)local_free;
	if (!strcmp(name, "calloc") || !strcmp(name, "realloc"))
		return NULL;
	return adsm_code_find(overlay->module, name);
}

/* A core cannot continue: end the device. The application gets the text, and knows the kernel. */
static void fail(void *context, const char *text)
{
	adsm_crash_alone();
	adsm_process_say_end(served, text);
	_exit(1);
}

static int create_managers(struct adsm_overlay *overlay, const struct adsm_partition_config *config, char *text)
{
	int ret = 0;

	for (unsigned i = 0; i < n_cores && !ret; i++)
		ret = adsm_partition_create(config, &overlay->managers[i], text);
	if (ret)
		destroy_managers(overlay);
	return ret;
}

static bool has_room(const struct adsm_overlay *overlay, const struct adsm_partition_config *config)
{
	const uint64_t beside = adsm_partition_beside(config) + overlay->library;

	return beside < code_size && adsm_partition_needs(config) <= code_size - beside;
}

/* Advice may propose another setting: exclude settings that some module does not fit with. */
static void note_rooms(struct adsm_overlay *overlay)
{
	for (uint32_t i = 0; i < ADSM_SCRATCHPAD_SETTINGS; i++) {
		const struct adsm_scratchpad_overlays setting = adsm_scratchpad_setting(i);
		const struct adsm_partition_config config = {
			.image = &overlay->image, .n_buffers = setting.buffers, .victim = setting.victim,
		};

		if (has_room(overlay, &config))
			overlay->rooms |= 1u << i;
	}
	atomic_fetch_or(&extra()->no_room, ~overlay->rooms);
}

/* Write what a code buffer has beside the code. */
static int say_beside(const struct adsm_partition_config *config, uint64_t library, char *text, size_t size)
{
	const uint64_t stack = adsm_partition_stack(config), victim = adsm_partition_victim_needs(config);

	return adsm_format(text, size, "the partition stack (%lu bytes), tables (%lu), libm (%lu) and the victim entry "
			   "(%lu)", stack, adsm_partition_beside(config) - stack - victim, library, victim);
}

/* No room: add what else is in the code buffer, and how large it would have to be. */
static void say_room(const struct adsm_partition_config *config, uint64_t library, char *text)
{
	char beside[160];

	say_beside(config, library, beside, sizeof(beside));
	adsm_append(text, ADSM_PROCESS_TEXT, ". The buffer also has %s. %lu bytes would be enough for all", beside,
		    (uint64_t)(adsm_partition_beside(config) + library + adsm_partition_needs(config)));
}

int adsm_overlay_ready(struct adsm_overlay *overlay, uint32_t module, uint64_t library,
		       char ret_text[ADSM_PROCESS_TEXT])
{
	struct adsm_partition_config config = {
		.image = &overlay->image, .n_buffers = how.buffers ? how.buffers : MAX_BUFFERS,
		.policy = (enum adsm_policy_kind)how.policy, .victim = how.victim, .all_registers = how.registers,
		.context = overlay, .resolve = resolve, .fail = fail,
	};
	uint64_t beside;
	int ret;

	if (overlay->ready)
		return 0;
	overlay->library = library;
	while (!how.buffers && config.n_buffers > 1 && !has_room(overlay, &config))
		config.n_buffers /= 2;
	overlay->beside = beside = adsm_partition_beside(&config) + library;
	if (beside >= code_size) {
		int n = say_beside(&config, library, ret_text, ADSM_PROCESS_TEXT);

		adsm_format(ret_text + n, ADSM_PROCESS_TEXT - (size_t)n, " alone need %lu bytes", beside);
		return -ENOSPC;
	}
	config.buffer_size = code_size - beside;
	overlay->module = module;
	ret = create_managers(overlay, &config, ret_text);
	if (ret == -ENOSPC)
		say_room(&config, library, ret_text);
	overlay->ready = !ret;
	overlay->n_buffers = config.n_buffers;
	if (!ret) {
		create_heaps(overlay, &config);
		note_rooms(overlay);
	}
	return ret;
}

adsm_kernel_run *adsm_overlay_enter(struct adsm_overlay *overlay, unsigned core, const char *kernel)
{
	char name[ADSM_PROCESS_NAME + 16];
	struct adsm_partitions *manager;

	cores[core].runs = overlay;
	if (!overlay) {
		owners[core] = 0;
		return NULL;
	}
	free_all(overlay, core);
	manager = overlay->managers[core];
	if (owners[core] != overlay->number)
		adsm_partition_empty(manager);
	else
		adsm_partition_count(manager);
	owners[core] = overlay->number;
	adsm_format(name, sizeof(name), "adsm_run_%s", kernel);
	return (adsm_kernel_run *)(uintptr_t)adsm_partition_function(manager, name);
}

uint64_t adsm_overlay_bytes(const struct adsm_overlay *overlay)
{
	return overlay->beside + adsm_partition_size(overlay->managers[0]);
}

void adsm_overlay_watch(struct adsm_overlay *overlay, unsigned core, struct adsm_spans *spans)
{
	adsm_partition_watch(overlay->managers[core], spans);
}

struct adsm_partition_counters adsm_overlay_counters(const struct adsm_overlay *overlay, unsigned core)
{
	return adsm_partition_counters(overlay->managers[core]);
}

/* ---- advice */

static uint32_t own_setting(const struct adsm_overlay *overlay)
{
	uint32_t i = 0;
	struct adsm_scratchpad_overlays setting = adsm_scratchpad_setting(i);

	while (setting.buffers != overlay->n_buffers || setting.policy != how.policy || setting.victim != how.victim)
		setting = adsm_scratchpad_setting(++i);
	return i;
}

static struct adsm_policy_log *create_log(const struct adsm_overlay *overlay, bool advised)
{
	struct adsm_policy_log *log = adsm_policy_log_create(&overlay->image, ADSM_PARTITION_DEPTH);
	int ret = log ? 0 : -ENOMEM;

	if (!ret && adsm_notes_wanted())
		ret = adsm_policy_log_count_pairs(log);
	for (uint32_t i = 0; i < ADSM_SCRATCHPAD_SETTINGS && advised && !ret; i++) {
		const struct adsm_scratchpad_overlays setting = adsm_scratchpad_setting(i);

		if (overlay->rooms >> i & 1)
			ret = adsm_policy_log_add(log, i, (enum adsm_policy_kind)setting.policy, setting.victim,
						  setting.buffers);
	}
	if (!ret)
		return log;
	adsm_policy_log_destroy(log);
	return NULL;
}

void adsm_overlay_record(struct adsm_overlay *overlay, unsigned core, bool advised)
{
	if (overlay->logs[core])
		return;
	overlay->logs[core] = create_log(overlay, advised);
	if (!overlay->logs[core])
		adsm_notes_miss();
	adsm_partition_record(overlay->managers[core], overlay->logs[core]);
}

int adsm_overlay_note(struct adsm_overlay *overlay, char ret_text[ADSM_PROCESS_TEXT])
{
	for (unsigned i = 0; i < n_cores; i++) {
		struct adsm_policy_log *log = overlay->logs[i];

		if (!log)
			continue;
		adsm_policy_log_play(log);
		adsm_notes_add(&overlay->image, log->pairs.n);
	}
	return adsm_notes_write(ret_text, ADSM_PROCESS_TEXT);
}

static void add_loads(struct adsm_scratchpad_loads *loads, uint64_t n, uint64_t bytes)
{
	atomic_fetch_add(&loads->n, n);
	atomic_fetch_add(&loads->bytes, bytes);
}

void adsm_overlay_replayed(struct adsm_overlay *overlay, unsigned core, struct adsm_scratchpad_replayed *replayed)
{
	const struct adsm_partition_counters counters = adsm_overlay_counters(overlay, core);
	struct adsm_policy_log *log = overlay->logs[core];
	const struct adsm_policy_other *own = log ? &log->others[own_setting(overlay)] : NULL;
	uint32_t none = 0;

	/* Kernels with the same name may be in modules with different numbers of sub-buffers. */
	if (!atomic_compare_exchange_strong(&replayed->buffers, &none, overlay->n_buffers) &&
	    none != overlay->n_buffers)
		own = NULL;
	add_loads(&replayed->loads_now, counters.loads, counters.bytes);
	if (log)
		adsm_policy_log_play(log);
	for (uint32_t i = 0; log && i < ADSM_SCRATCHPAD_SETTINGS; i++)
		add_loads(&replayed->loads[i], log->others[i].loads, log->others[i].bytes);
	/* The model of the own setting must have loaded the same as the core did. Without memory for it nothing is
	 * known. */
	if (!own || own->loads != counters.loads || own->bytes != counters.bytes)
		atomic_store(&replayed->unlike, 1);
}
