/* SPDX-License-Identifier: MIT */
/*
 * api.h - what the programs do with CUDA, once for each interface: driver.c and runtime.c. No program here knows of
 * libadsm. An error ends the process with status 1 and a sentence, unless said otherwise.
 */
#ifndef TEST_CUDA_API_H
#define TEST_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>

enum kind { TO_DEVICE, TO_HOST, WITHIN, ANY };		/* of copies */
enum how { PLAIN, COOPERATIVE, EX };			/* to launch */
/* Of tests/kernels/conform.c. */
enum kernel { INCREMENT, INCREMENT_BYTES, ADD, ADDF, COPY, LATE_COPY, LATE_INCREMENT, N_KERNELS };

typedef struct CUstream_st *stream;
typedef struct CUevent_st *event;
typedef struct graph *graph;

extern const char *const api_kernel_names[N_KERNELS];
extern const bool api_has_widths;			/* fills with 2 and 4 bytes */

void api_start(void);
void api_end(void);
/* All that the device had is gone, kernels excepted: those come back. */
void api_reset(void);
void api_die(const char *what, int error) __attribute__((noreturn));

void *api_alloc(size_t size);
void *api_alloc_pitch(size_t width, size_t height, size_t *ret_pitch);
void api_free(void *p);
void *api_alloc_async(size_t size, stream stream);
void api_free_async(void *p, stream stream);
void *api_host_alloc(size_t size);
void api_host_free(void *p);
/* The driver's error. */
int api_ipc_handle(void *p, char handle[64]);

void api_copy(void *dst, const void *src, size_t size, enum kind kind);
void api_copy_async(void *dst, const void *src, size_t size, enum kind kind, stream stream);
void api_copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
		 enum kind kind);
/* @n values of @width bytes. */
void api_fill(void *p, unsigned value, size_t n, int width);
void api_fill_async(void *p, unsigned value, size_t n, int width, stream stream);
void api_fill_2d(void *p, size_t pitch, unsigned value, size_t width, size_t height);

stream api_stream(void);
void api_stream_free(stream stream);
void api_stream_wait(stream stream);
bool api_stream_done(stream stream);
void api_stream_after(stream stream, event event);
void api_host_func(stream stream, void (*function)(void *data), void *data);
/* The older kind of it, with a signature of its own: @function and @data are called from inside. */
void api_callback(stream stream, void (*function)(void *data), void *data);
event api_event(void);
void api_event_free(event event);
void api_event_record(event event, stream stream);
void api_event_wait(event event);
bool api_event_done(event event);
void api_sync(void);

void api_launch(enum kernel kernel, enum how how, unsigned grid, unsigned block, stream stream, void **args);
/* With all values in one buffer. false: the interface has no such thing. */
bool api_launch_packed(enum kernel kernel, unsigned grid, unsigned block, stream stream, void **extra);
void api_begin_capture(stream stream);
graph api_end_capture(stream stream);
void api_graph_launch(graph graph, stream stream);
void api_graph_free(graph graph);

#endif
