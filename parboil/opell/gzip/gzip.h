/* SPDX-License-Identifier: MIT */
/* gzip.h - what the kernels and the program agree on: members as gzip has them (RFC 1952), one for each chunk. */
#ifndef PO_GZIP_H
#define PO_GZIP_H

#define GZIP_CHUNK 16384		/* bytes that become a member; matches do not reach beyond */
#define GZIP_HEADER 18			/* with the extra field 'BC', which has the member's size, less one */
#define GZIP_TRAILER 8			/* CRC-32, and bytes of what was compressed */
#define GZIP_SLOT (GZIP_CHUNK + 64)	/* a member at most: where nothing is gained it is stored */

#define GZIP_MIN_MATCH 3
#define GZIP_MAX_MATCH 258
#define GZIP_TOKEN_MATCH 0x80000000u	/* | (length - 3) << 16 | distance - 1; else a byte */

/* Of a member that is decompressed, in @members: offsets and sizes of what is compressed, trailer included, and not. */
enum { GZIP_AT, GZIP_SIZE, GZIP_OUT_AT, GZIP_OUT_SIZE, GZIP_WORDS };
/* What became of it. */
enum { GZIP_OK, GZIP_DAMAGED, GZIP_SHORT, GZIP_LONG, GZIP_WRONG_CRC, GZIP_WRONG_SIZE, GZIP_MORE };

#endif
