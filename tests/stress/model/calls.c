/* SPDX-License-Identifier: MIT */
/* calls.c - kernels with every access, modules, assignments, device-only memory. */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE_MAX 8			/* arguments of a kernel here */

/* A call as it is put together. */
struct call {
	enum kernel kernel;
	adsmKernel *handle;
	struct spot spots[4];		/* of the objects it uses */
	size_t n_spots, n_args;
	adsmArg args[VARIABLE_MAX];
	unsigned n;			/* bytes it works on */
	unsigned long spins;
	bool unnamed;
	const struct spot *overwritten;	/* an object that is named OUT; NULL: none */
};

static const char *const names[KERNELS] = {
	"model_add", "model_add_any", "model_copy", "model_copy_any", "model_mix", "model_const", "model_through",
};

static adsmModule *open_module(adsmKernel **ret_kernels)
{
	const char *folder = getenv("TEST_KERNELS");
	adsmModule *module;
	char path[4096];
	unsigned tries = 0;

	if (!folder)
		FAIL("TEST_KERNELS is the folder of model.adsm");
	snprintf(path, sizeof(path), "%s/model.adsm", folder);
	while (!(module = adsmModuleLoad(path)))
		again(-errno, &tries, __LINE__);
	for (int i = 0; i < KERNELS; i++) {
		ret_kernels[i] = adsmKernelGet(module, names[i]);
		CHECK(ret_kernels[i]);
	}
	return module;
}

void load_module(struct worker *worker)
{
	worker->module = open_module(worker->kernels);
}

/* ---- calling */

/* Usually it runs immediately; sometimes it takes long, and reads and writes late. */
static struct call begin_call(enum kernel kernel, size_t n)
{
	const unsigned long blocks = n / round_is.block + 1;
	struct call call = { .kernel = kernel, .handle = me->kernels[kernel], .n = (unsigned)n };

	call.spins = draw(4) ? 0 : draw(draw(8) ? 300000 : 3000000) / blocks;
	call.n_args = 2;		/* the first two are filled in at the call */
	return call;
}

static void use_spot(struct call *call, const struct spot *spot, adsmArg arg)
{
	call->spots[call->n_spots++] = *spot;
	call->args[call->n_args++] = arg;
}

static bool is_assigned(const struct object *object, const struct call *call)
{
	return call->handle == me->kernels[call->kernel] && object->assigned & 1u << call->kernel;
}

/* Must it be refused for a hold, and may it? */
static void foresee(const struct call *call, bool *ret_must, bool *ret_may)
{
	*ret_must = false;
	*ret_may = call->unnamed || round_is.paper;
	for (size_t i = 0; i < call->n_spots; i++) {
		const struct object *object = call->spots[i].object;

		*ret_must |= object->owner >= 0 && object->held_size;
		*ret_may |= object->owner < 0;
	}
	for (int i = 0; i < OWN_MAX; i++) {
		const struct object *object = &me->things[i];

		if (!object->p || !is_assigned(object, call))
			continue;
		*ret_must |= object->held_size;
	}
}

/* True: it was launched. */
static bool launch(struct call *call)
{
	const adsmDim block = { round_is.block, 1, 1 }, grid = { (call->n + block.x - 1) / block.x, 1, 1 };
	/* If the objects are on several devices, one that cannot move may be among them: the device has its address, or
	 * the system is writing it. */
	const bool mixed = round_is.n_devices > 1;
	unsigned tries = 0;
	bool must, may;
	int error;

	foresee(call, &must, &may);
	call->args[0] = adsmVal(call->spins);
	call->args[1] = adsmVal(call->n);
	for (size_t i = 0; i < call->n_spots; i++)
		note(names[call->kernel], &call->spots[i], call->args[i + 2].access);
	do
		error = adsmCallArgs(call->handle, grid, block, call->args, call->n_args);
	while (error && error != -EBUSY && !(mixed && error == -EINVAL) && !(round_is.small && error == -ENOMEM) &&
	       again(error, &tries, __LINE__));
	if (must && !(round_is.small && error == -ENOMEM) && !(mixed && error == -EINVAL))
		CHECK_EQ(error, -EBUSY);
	if (error) {
		note("refused", NULL, (unsigned)-error);
		if (!may && !must && !mixed && error != -ENOMEM)
			FAIL("refused with %d (%s)", error, adsmLastError());
		/* It may have moved without its contents. */
		if (mixed && call->overwritten) {
			settle(call->overwritten->object);
			note("undefined", call->overwritten, 0);
			make_bytes(call->overwritten->shadow, call->overwritten->size, draw_from(&me->state));
			write_spot(call->overwritten);
		}
		return false;
	}
	for (size_t i = 0; i < call->n_spots; i++)
		if (call->spots[i].object->owner >= 0)
			call->spots[i].object->called = true;
	for (int i = 0; i < OWN_MAX; i++)
		if (call->unnamed || round_is.paper || is_assigned(&me->things[i], call))
			me->things[i].called = true;
	me->pending = true;
	return true;
}

/* What may be used by a call now: with objects whose accesses are not seen, nothing that is dealt out. */
static struct spot callable_spot(size_t most)
{
	struct spot s = any_spot(most);

	if (s.object->owner < 0 && (round_is.batch || round_is.strict)) {
		struct object *object = any_thing();

		return object ? whole(object) : (struct spot){ 0 };
	}
	return s.object == &me->for_signals ? (struct spot){ 0 } : s;
}

static bool overlap(const struct spot *a, const struct spot *b)
{
	return a->p < b->p + b->size && b->p < a->p + a->size;
}

static bool all_wait;			/* for what the first thread calls */

/* Does it take all of the object? Then the kernel overwrites what it need not be sent. */
static bool is_whole(const struct spot *s)
{
	return s->size == s->object->size && (s->object->owner >= 0 || all_wait);
}

static bool unnamed_now(void)
{
	return !round_is.batch && !round_is.small && draw(2);
}

static void add_to(const struct spot *s, bool any, bool unnamed, unsigned value)
{
	struct call call = begin_call(any ? ADD_ANY : ADD, s->size);

	call.unnamed = unnamed;
	use_spot(&call, s, any && !unnamed ? adsmInOut(s->p) : adsmPtr(s->p));
	call.args[call.n_args++] = adsmVal(value);
	if (launch(&call))
		for (size_t i = 0; i < s->size; i++)
			s->shadow[i] = (unsigned char)(s->shadow[i] + value);
}

void call_add(void)
{
	struct spot s = callable_spot(SIZE_MAX);
	const bool any = draw(2), unnamed = any && unnamed_now();

	if (s.object)
		add_to(&s, any, unnamed, (unsigned)draw(256));
	if (!draw(8))
		sync_all();
}

void add_to_all(struct object *object)
{
	const struct spot all = whole(object);

	add_to(&all, false, false, (unsigned)draw(256));
}

/* What a program does again and again the library expects of it; and now and then it does something else. */
void habit(void)
{
	struct object *object = any_thing();
	struct spot all, part;

	if (!object)
		return;
	all = whole(object);
	part = all;
	part.size = draw(all.size) + 1;
	for (size_t left = draw(6) + 2; left > 0; left--) {
		add_to(&all, false, false, (unsigned)left);
		if (round_is.strict || object->batch || draw(2))
			sync_all();
		look_at(&part);
		if (draw(3) || object->held_size)
			continue;
		settle(object);
		note("adsmMemset", &all, (unsigned)left);
		memset(all.shadow, (int)left, all.size);
		REPEAT(adsmMemset(all.p, (int)left, all.size));
		look_at(&part);
	}
}

static void copy_to(struct spot *to, const struct spot *from, bool any, bool unnamed)
{
	const bool out = is_whole(to) && to->size <= from->size;
	struct call call;

	if (to->size > from->size)
		to->size = from->size;
	call = begin_call(any ? COPY_ANY : COPY, to->size);
	call.unnamed = unnamed;
	use_spot(&call, from, any && !unnamed ? adsmIn(from->p) : adsmPtr(from->p));
	use_spot(&call, to, unnamed || (out && !any) ? adsmPtr(to->p) : out ? adsmOut(to->p) : adsmInOut(to->p));
	call.overwritten = out ? to : NULL;
	if (launch(&call))
		memcpy(to->shadow, from->shadow, to->size);
}

void call_copy(void)
{
	struct spot to = callable_spot(SIZE_MAX), from = callable_spot(SIZE_MAX);
	const bool any = draw(2), unnamed = any && unnamed_now();

	if (to.object && from.object && !overlap(&to, &from))
		copy_to(&to, &from, any, unnamed);
}

void call_mix(void)
{
	struct spot a = callable_spot(SIZE_MAX), b = callable_spot(SIZE_MAX), c = callable_spot(SIZE_MAX);
	size_t size = a.size < b.size ? a.size : b.size;
	struct call call;

	if (c.size < size)
		size = c.size;
	a.size = b.size = c.size = size;
	if (!size || overlap(&a, &c) || overlap(&b, &c))
		return;
	call = begin_call(MIX, size);
	use_spot(&call, &a, adsmPtr(a.p));
	use_spot(&call, &b, draw(2) ? adsmPtr(b.p) : adsmInOut(b.p));
	use_spot(&call, &c, adsmPtr(c.p));
	if (launch(&call))
		for (size_t i = 0; i < size; i++)
			c.shadow[i] = (unsigned char)(c.shadow[i] * 3 + (a.shadow[i] ^ b.shadow[i]));
}

/* The constants are copied at the call; they may lie in shared memory. */
void call_const(void)
{
	const struct spot table = any_spot(SPOT_MAX);
	struct spot to = callable_spot(SPOT_MAX);
	const bool own = draw(2), out = to.object && is_whole(&to) && to.size <= table.size;
	struct call call;

	if (!to.object)
		return;
	if (to.size > table.size)
		to.size = table.size;
	settle(table.object);
	call = begin_call(FROM_CONST, to.size);
	use_spot(&call, &to, out ? adsmPtr(to.p) : adsmInOut(to.p));
	call.overwritten = out ? &to : NULL;
	note("constants", &table, own);
	memcpy(buffer, table.shadow, to.size);
	if (own) {
		make_bytes(buffer, to.size, draw_from(&me->state));
		memcpy(expected, buffer, to.size);
	}
	call.args[call.n_args++] = adsmConst(own ? expected : table.p, to.size);
	if (launch(&call))
		memcpy(to.shadow, buffer, to.size);
	memset(expected, 0, to.size);
}

/* Later calls are in another queue. What its calls write is in order with all that the thread does, as before. */
void change_queue(void)
{
	const size_t i = draw(QUEUES + 1);
	adsmQueue **queue = i < QUEUES ? &me->queues[i] : NULL;
	adsmEvent event;

	if (queue && *queue && !draw(8)) {
		CHECK_EQ(adsmQueueDestroy(*queue), 0);
		*queue = NULL;
	}
	if (queue && !*queue)
		CHECK((*queue = adsmQueueCreate()));
	note("adsmQueueSet", NULL, (unsigned)i);
	CHECK_EQ(adsmQueueSet(queue ? *queue : NULL), 0);
	if (adsmCallEvent(&event) || draw(2))
		return;
	note("event", NULL, (unsigned)event.seq);
	if (draw(2))
		CHECK_EQ(adsmQueueWait(queue ? *queue : NULL, event), 0);
	else if (draw(2))
		REPEAT(adsmEventWait(event));
	else if (adsmEventQuery(event) != -EBUSY)
		CHECK_EQ(adsmEventQuery(event), 0);
}

/* A pointer in data, and what it leads to. */
void call_through(void)
{
	struct spot ref = any_spot(SPOT_MAX), target = callable_spot(SIZE_MAX);
	const size_t skip = -(uintptr_t)ref.p % sizeof(uint64_t);
	const unsigned value = (unsigned)draw(256);
	struct call call;
	uint64_t address;

	if (!round_is.addresses || !target.object || ref.size < skip + sizeof(address) ||
	    ref.object == &me->for_signals || (ref.object->owner < 0 && (round_is.batch || round_is.strict)))
		return;
	ref = (struct spot){ ref.object, ref.p + skip, ref.shadow + skip, sizeof(address) };
	if (overlap(&ref, &target))
		return;
	address = adsmSafe(target.p);
	if (!address)
		FAIL("no address of the device's: %s", adsmLastError());
	settle(ref.object);
	note("pointer", &ref, 0);
	memcpy(ref.shadow, &address, sizeof(address));
	memcpy(ref.p, &address, sizeof(address));
	call = begin_call(THROUGH, target.size);
	use_spot(&call, &ref, adsmPtr(ref.p));
	call.args[call.n_args++] = adsmVal(value);
	use_spot(&call, &target, adsmUse(target.p, ADSM_ACCESS_INOUT));
	if (launch(&call))
		for (size_t i = 0; i < target.size; i++)
			target.shadow[i] = (unsigned char)(target.shadow[i] + value);
}

/* Where all threads wait: over all of an object that is dealt out. */
void call_whole(struct object *to, const struct object *from)
{
	struct spot all = whole(to), source;

	all_wait = true;
	if (from) {
		source = (struct spot){ (struct object *)from, from->p, from->shadow, from->size };
		copy_to(&all, &source, draw(2), false);
	} else {
		const bool any = draw(2);

		add_to(&all, any, any && !round_is.small && draw(2), (unsigned)draw(256));
	}
	all_wait = false;
}

/* A module that is unloaded immediately. */
void module_cycle(void)
{
	adsmKernel *kernels[KERNELS];
	struct spot s = callable_spot(SIZE_MAX);
	adsmModule *module;
	struct call call;

	if (!s.object || draw(4))
		return;
	note("module load", &s, 0);
	module = open_module(kernels);
	call = begin_call(ADD, s.size);
	call.handle = kernels[ADD];
	use_spot(&call, &s, adsmPtr(s.p));
	call.args[call.n_args++] = adsmVal(7u);
	if (launch(&call))
		for (size_t i = 0; i < s.size; i++)
			s.shadow[i] = (unsigned char)(s.shadow[i] + 7);
	note("module unload", &s, 0);
	REPEAT(adsmModuleUnload(module));
}

void assign(void)
{
	struct object *object = any_thing();
	const enum kernel which = draw(KERNELS);
	adsmKernel *kernel = draw(3) ? me->kernels[which] : NULL;
	struct spot all;

	if (!object)
		return;
	all = whole(object);
	note(kernel ? "assign" : "assign to none", &all, which);
	/* Kernels that declare nothing of their pointers may be called with this one, and write to it. */
	REPEAT(adsmAssign(object->p, kernel, draw(2) && which != ADD_ANY && which != COPY_ANY ? ADSM_ACCESS_IN :
			  ADSM_ACCESS_INOUT));
	object->assigned = kernel ? object->assigned | 1u << which : 0;
}

/* ---- device-only memory */

static struct device_memory *any_device_memory(void)
{
	struct device_memory *d = &me->device[draw(DEVICE_MAX)];

	return d->p ? d : NULL;
}

void device_life(void)
{
	struct device_memory *d = &me->device[draw(DEVICE_MAX)];

	if (d->p) {
		note("device free", NULL, (unsigned)d->size);
		REPEAT(adsmDeviceFree(d->p));
		free(d->shadow);
		d->p = NULL;
		return;
	}
	d->size = draw(draw(2) ? 5000 : 100000) + 1;
	note("device alloc", NULL, (unsigned)d->size);
	d->p = adsmDeviceAlloc(d->size);
	if (!d->p && round_is.small && errno == ENOMEM)
		return;
	d->shadow = calloc(1, d->size);
	if (!d->p || !d->shadow)
		FAIL("no device memory: %s", adsmLastError());
	CHECK_EQ(adsmDeviceFill(d->p, 0, d->size), 0);
}

void end_device_memory(void)
{
	for (int i = 0; i < DEVICE_MAX; i++)
		if (me->device[i].p) {
			CHECK_EQ(adsmDeviceFree(me->device[i].p), 0);
			free(me->device[i].shadow);
			me->device[i].p = NULL;
		}
}

void device_copy(void)
{
	struct device_memory *d = any_device_memory(), *other = any_device_memory();
	struct spot s = any_spot(SIZE_MAX);
	size_t at, size, how = draw(4);

	if (!d || !other)
		return;
	at = draw(d->size);
	size = d->size - at < s.size ? d->size - at : s.size;
	s.size = size;
	note(how == 0 ? "to device" : how == 1 ? "to host" : "on the device", &s, (unsigned)at);
	switch (how) {
	case 0:
		memcpy(d->shadow + at, s.shadow, size);
		CHECK_EQ(adsmCopyToDevice(d->p + at, s.p, size), 0);
		break;
	case 1:
		memcpy(s.shadow, d->shadow + at, size);
		CHECK_EQ(adsmCopyToHost(s.p, d->p + at, size), 0);
		break;
	case 2:
		if (d == other || size > other->size)
			return;
		memcpy(d->shadow + at, other->shadow, size);
		CHECK_EQ(adsmCopyDevice(d->p + at, other->p, size), 0);
		break;
	case 3:
		memset(d->shadow + at, (int)size, size);
		CHECK_EQ(adsmDeviceFill(d->p + at, (int)size, size), 0);
		break;
	}
}

/* A copy there, a call between, a copy back, none of them waited for. */
void device_async(void)
{
	struct device_memory *d = any_device_memory();
	adsmEvent there, back;
	struct spot nowhere;
	size_t size;

	if (!d)
		return;
	size = d->size < TOTAL_MAX ? d->size : TOTAL_MAX;
	nowhere = (struct spot){ NULL, d->p, d->shadow, size };
	note("async copies", NULL, (unsigned)size);
	make_bytes(buffer, size, draw_from(&me->state));
	memcpy(d->shadow, buffer, size);
	CHECK_EQ(adsmCopyToDeviceAsync(d->p, buffer, size, &there), 0);
	CHECK_EQ(adsmCopyToHostAsync(expected, d->p, size, &back), 0);
	CHECK_EQ(adsmEventWait(back), 0);
	CHECK_EQ(adsmEventWait(there), 0);
	if (memcmp(expected, nowhere.shadow, size))
		FAIL("asynchronous copies of %zu bytes brought others", size);
}

void device_call(void)
{
	struct device_memory *d = any_device_memory();
	struct spot s = callable_spot(SIZE_MAX);
	const bool in = draw(2);
	struct call call;

	if (!d || !s.object)
		return;
	if (s.size > d->size)
		s.size = d->size;
	call = begin_call(COPY_ANY, s.size);
	if (in) {
		use_spot(&call, &s, adsmIn(s.p));
		call.args[call.n_args++] = adsmInOut(d->p);
		if (launch(&call))
			memcpy(d->shadow, s.shadow, s.size);
	} else {
		call.args[call.n_args++] = adsmIn(d->p);
		use_spot(&call, &s, is_whole(&s) ? adsmOut(s.p) : adsmInOut(s.p));
		call.overwritten = is_whole(&s) ? &s : NULL;
		if (launch(&call))
			memcpy(s.shadow, d->shadow, s.size);
	}
}
