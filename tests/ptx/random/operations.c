/* SPDX-License-Identifier: MIT */
/* operations.c - random instructions that compute. */
#include "generator.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * Instructions, and the kinds of their operands, the result first. i, l, s: b32, b64, b16; f, d, h: f32, f64, f16;
 * p: predicate; c: a count of bits; n: not zero; m: a byte, b: 0 to 31, as constants.
 */
static const struct form {
	const char *text, *kinds;
} forms[] = {
	{ "add.s32", "iii" },
	{ "add.s32", "iii" },
	{ "add.u32", "iii" },
	{ "sub.s32", "iii" },
	{ "add.sat.s32", "iii" },
	{ "sub.sat.s32", "iii" },
	{ "mul.lo.s32", "iii" },
	{ "mul.lo.u32", "iii" },
	{ "mul.hi.s32", "iii" },
	{ "mul.hi.u32", "iii" },
	{ "mul24.lo.u32", "iii" },
	{ "mul24.hi.s32", "iii" },
	{ "mad.lo.s32", "iiii" },
	{ "mad.lo.u32", "iiii" },
	{ "mad.hi.u32", "iiii" },
	{ "mad.hi.s32", "iiii" },
	{ "mad24.lo.s32", "iiii" },
	{ "sad.u32", "iiii" },
	{ "sad.s32", "iiii" },
	{ "div.u32", "iin" },
	{ "div.s32", "iin" },
	{ "rem.u32", "iin" },
	{ "rem.s32", "iin" },
	{ "abs.s32", "ii" },
	{ "neg.s32", "ii" },
	{ "min.s32", "iii" },
	{ "min.u32", "iii" },
	{ "max.s32", "iii" },
	{ "max.u32", "iii" },
	{ "popc.b32", "ii" },
	{ "clz.b32", "ii" },
	{ "bfind.u32", "ii" },
	{ "bfind.s32", "ii" },
	{ "bfind.shiftamt.u32", "ii" },
	{ "bfind.shiftamt.s32", "ii" },
	{ "brev.b32", "ii" },
	{ "bfe.u32", "iicc" },
	{ "bfe.s32", "iicc" },
	{ "bfi.b32", "iiicc" },
	{ "szext.clamp.s32", "iic" },
	{ "szext.wrap.u32", "iic" },
	{ "bmsk.clamp.b32", "icc" },
	{ "bmsk.wrap.b32", "icc" },
	{ "dp4a.u32.s32", "iiii" },
	{ "dp4a.s32.s32", "iiii" },
	{ "dp4a.u32.u32", "iiii" },
	{ "and.b32", "iii" },
	{ "or.b32", "iii" },
	{ "xor.b32", "iii" },
	{ "not.b32", "ii" },
	{ "cnot.b32", "ii" },
	{ "lop3.b32", "iiiim" },
	{ "shl.b32", "iic" },
	{ "shr.u32", "iic" },
	{ "shr.s32", "iic" },
	{ "shf.l.clamp.b32", "iiic" },
	{ "shf.l.wrap.b32", "iiic" },
	{ "shf.r.clamp.b32", "iiic" },
	{ "shf.r.wrap.b32", "iiic" },
	{ "prmt.b32", "iiii" },
	{ "prmt.b32.f4e", "iiic" },
	{ "prmt.b32.b4e", "iiic" },
	{ "prmt.b32.rc8", "iiic" },
	{ "prmt.b32.ecl", "iiic" },
	{ "prmt.b32.ecr", "iiic" },
	{ "prmt.b32.rc16", "iiic" },
	{ "fns.b32", "iibc" },
	{ "mov.b32", "ii" },
	{ "selp.b32", "iiip" },
	{ "selp.s32", "iiip" },
	{ "slct.s32.s32", "iiii" },
	{ "slct.u32.f32", "iiif" },
	{ "set.lt.u32.s32", "iii" },
	{ "set.ge.s32.u32", "iii" },
	{ "set.eq.f32.s32", "fii" },
	{ "set.gt.u32.f32", "iff" },
	{ "set.neu.and.u32.f32", "iffp" },
	{ "set.le.xor.s32.s64", "illp" },
	/* 64 bits */
	{ "add.s64", "lll" },
	{ "sub.s64", "lll" },
	{ "mul.lo.s64", "lll" },
	{ "mul.hi.u64", "lll" },
	{ "mul.hi.s64", "lll" },
	{ "mul.wide.s32", "lii" },
	{ "mul.wide.u32", "lii" },
	{ "mad.wide.s32", "liil" },
	{ "mad.wide.u32", "liil" },
	{ "mad.lo.s64", "llll" },
	{ "mad.hi.s64", "llll" },
	{ "and.b64", "lll" },
	{ "or.b64", "lll" },
	{ "xor.b64", "lll" },
	{ "not.b64", "ll" },
	{ "cnot.b64", "ll" },
	{ "shl.b64", "llc" },
	{ "shr.u64", "llc" },
	{ "shr.s64", "llc" },
	{ "popc.b64", "il" },
	{ "clz.b64", "il" },
	{ "bfind.s64", "il" },
	{ "brev.b64", "ll" },
	{ "bfe.u64", "llcc" },
	{ "bfe.s64", "llcc" },
	{ "bfi.b64", "lllcc" },
	{ "min.s64", "lll" },
	{ "max.u64", "lll" },
	{ "abs.s64", "ll" },
	{ "neg.s64", "ll" },
	{ "sad.s64", "llll" },
	{ "selp.b64", "lllp" },
	{ "slct.s64.s32", "llli" },
	{ "mov.b64", "ll" },
	{ "cvt.u64.u32", "li" },
	{ "cvt.s64.s32", "li" },
	{ "cvt.u32.u64", "il" },
	{ "cvt.sat.s32.s64", "il" },
	{ "cvt.sat.u32.s64", "il" },
	{ "cvt.s64.s8", "ll" },
	/* 16 bits and 8 bits */
	{ "add.s16", "sss" },
	{ "sub.u16", "sss" },
	{ "mul.lo.s16", "sss" },
	{ "mul.hi.u16", "sss" },
	{ "mul.wide.u16", "iss" },
	{ "mul.wide.s16", "iss" },
	{ "mad.lo.u16", "ssss" },
	{ "mad.wide.s16", "issi" },
	{ "min.s16", "sss" },
	{ "max.u16", "sss" },
	{ "shr.s16", "ssc" },
	{ "shr.u16", "ssc" },
	{ "shl.b16", "ssc" },
	{ "and.b16", "sss" },
	{ "xor.b16", "sss" },
	{ "not.b16", "ss" },
	{ "neg.s16", "ss" },
	{ "abs.s16", "ss" },
	{ "selp.b16", "sssp" },
	{ "cvt.u16.u32", "si" },
	{ "cvt.u32.u16", "is" },
	{ "cvt.s32.s16", "is" },
	{ "cvt.s32.s8", "ii" },
	{ "cvt.u32.u8", "ii" },
	{ "cvt.sat.s8.s32", "ii" },
	{ "cvt.sat.u8.s32", "si" },
	{ "cvt.sat.s16.u32", "si" },
	{ "cvt.s64.s16", "ls" },
	{ "cvt.u16.u64", "sl" },
	{ "cvt.s16.s8", "ss" },
	/* f32 */
	{ "add.f32", "fff" },
	{ "sub.f32", "fff" },
	{ "mul.f32", "fff" },
	{ "add.rz.f32", "fff" },
	{ "sub.rm.f32", "fff" },
	{ "mul.rp.f32", "fff" },
	{ "add.ftz.f32", "fff" },
	{ "mul.ftz.f32", "fff" },
	{ "add.sat.f32", "fff" },
	{ "fma.rn.f32", "ffff" },
	{ "fma.rz.f32", "ffff" },
	{ "fma.rm.f32", "ffff" },
	{ "fma.rp.f32", "ffff" },
	{ "mad.rn.f32", "ffff" },
	{ "div.rn.f32", "fff" },
	{ "div.rz.f32", "fff" },
	{ "rcp.rn.f32", "ff" },
	{ "sqrt.rn.f32", "ff" },
	{ "sqrt.rm.f32", "ff" },
	{ "min.f32", "fff" },
	{ "max.f32", "fff" },
	{ "min.NaN.f32", "fff" },
	{ "max.ftz.f32", "fff" },
	{ "abs.f32", "ff" },
	{ "neg.f32", "ff" },
	{ "selp.f32", "fffp" },
	{ "slct.f32.s32", "fffi" },
	{ "mov.f32", "ff" },
	{ "cvt.rn.f32.s32", "fi" },
	{ "cvt.rz.f32.u32", "fi" },
	{ "cvt.rm.f32.s64", "fl" },
	{ "cvt.rp.f32.u64", "fl" },
	{ "cvt.rn.f32.u16", "fs" },
	{ "cvt.rzi.s32.f32", "if" },
	{ "cvt.rni.u32.f32", "if" },
	{ "cvt.rmi.s64.f32", "lf" },
	{ "cvt.rpi.u16.f32", "sf" },
	{ "cvt.rni.f32.f32", "ff" },
	{ "cvt.rpi.f32.f32", "ff" },
	{ "cvt.sat.f32.f32", "ff" },
	{ "cvt.rzi.s8.f32", "if" },
	/* f64 */
	{ "add.f64", "ddd" },
	{ "sub.rp.f64", "ddd" },
	{ "mul.f64", "ddd" },
	{ "mul.rz.f64", "ddd" },
	{ "fma.rn.f64", "dddd" },
	{ "fma.rm.f64", "dddd" },
	{ "div.rn.f64", "ddd" },
	{ "rcp.rn.f64", "dd" },
	{ "sqrt.rn.f64", "dd" },
	{ "min.f64", "ddd" },
	{ "max.f64", "ddd" },
	{ "neg.f64", "dd" },
	{ "abs.f64", "dd" },
	{ "selp.f64", "dddp" },
	{ "cvt.f64.f32", "df" },
	{ "cvt.rn.f32.f64", "fd" },
	{ "cvt.rz.f32.f64", "fd" },
	{ "cvt.rn.f64.s64", "dl" },
	{ "cvt.rz.f64.u64", "dl" },
	{ "cvt.rn.f64.s32", "di" },
	{ "cvt.rzi.s64.f64", "ld" },
	{ "cvt.rni.s32.f64", "id" },
	{ "cvt.rmi.f64.f64", "dd" },
	/* f16 */
	{ "add.f16", "hhh" },
	{ "sub.f16", "hhh" },
	{ "mul.f16", "hhh" },
	{ "fma.rn.f16", "hhhh" },
	{ "min.f16", "hhh" },
	{ "max.f16", "hhh" },
	{ "neg.f16", "hh" },
	{ "abs.f16", "hh" },
	{ "cvt.rn.f16.f32", "hf" },
	{ "cvt.rz.f16.f32", "hf" },
	{ "cvt.f32.f16", "fh" },
	{ "cvt.rn.f16.s32", "hi" },
	{ "cvt.rn.f16.u16", "hs" },
	{ "cvt.rzi.s16.f16", "sh" },
	{ "cvt.rni.s32.f16", "ih" },
	{ "cvt.rn.f16.f64", "hd" },
	{ "add.f16x2", "iii" },
	{ "mul.f16x2", "iii" },
	{ "fma.rn.f16x2", "iiii" },
	/* predicates */
	{ "setp.eq.s32", "pii" },
	{ "setp.ne.b32", "pii" },
	{ "setp.lt.s32", "pii" },
	{ "setp.le.u32", "pii" },
	{ "setp.gt.s32", "pii" },
	{ "setp.hs.u32", "pii" },
	{ "setp.lo.u32", "pii" },
	{ "setp.lt.s64", "pll" },
	{ "setp.ge.u64", "pll" },
	{ "setp.eq.b64", "pll" },
	{ "setp.gt.s16", "pss" },
	{ "setp.ls.u16", "pss" },
	{ "setp.lt.f32", "pff" },
	{ "setp.geu.f32", "pff" },
	{ "setp.num.f32", "pff" },
	{ "setp.nan.f64", "pdd" },
	{ "setp.ne.f64", "pdd" },
	{ "setp.gtu.f64", "pdd" },
	{ "setp.lt.f16", "phh" },
	{ "setp.lt.and.s32", "piip" },
	{ "setp.ge.or.u32", "piip" },
	{ "setp.ne.xor.s32", "piip" },
	{ "setp.leu.or.f32", "pffp" },
	{ "testp.finite.f32", "pf" },
	{ "testp.normal.f32", "pf" },
	{ "testp.subnormal.f32", "pf" },
	{ "testp.infinite.f64", "pd" },
	{ "and.pred", "ppp" },
	{ "or.pred", "ppp" },
	{ "xor.pred", "ppp" },
	{ "not.pred", "pp" },
	{ "mov.pred", "pp" },
};

/* Registers of each kind. */
static uint32_t pool_size(char kind)
{
	return kind == 'i' ? 5 : kind == 'f' || kind == 'p' ? 3 : 2;
}

/* A text that lives long enough for one instruction. */
__attribute__((format(printf, 1, 2))) static const char *words(const char *format, ...)
{
	static char texts[32][32];
	static uint32_t next;
	char *text = texts[next++ % 32];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(texts[0]), format, args);
	va_end(args);
	return text;
}

const char *temporary(struct generator *g, char letter)
{
	return words("%%%c%u", letter, g->numbers[(unsigned char)letter]++);
}

static const char *constant(struct generator *g, char kind)
{
	static const int32_t edges[] = { 0,	     1,	   -1,	  2, 31, 32, 255, 0x7fffffff, (int32_t)0x80000000,
					 0x3f800000, -128, 0xffff };
	static const char *const floats[] = { "0f00000000", "0f3F800000", "0fBF000000", "0f4B800001",
					      "0f00000001", "0f7F800000", "0fC2C80000", "0f3DCCCCCD" };
	static const char *const doubles[] = { "0d0000000000000000", "0d3FF0000000000000", "0dBFE8000000000000",
					       "0d4340000000000001", "0d3FB999999999999A" };

	if (kind == 'f')
		return floats[any(g, sizeof(floats) / sizeof(*floats))];
	if (kind == 'd')
		return doubles[any(g, sizeof(doubles) / sizeof(*doubles))];
	if (kind == 's')
		return words("%d", chance(g, 50) ? (int)any(g, 65536) - 32768 : (int)any(g, 9) - 4);
	return words("%d", chance(g, 50) ? edges[any(g, sizeof(edges) / sizeof(*edges))] : (int32_t)any(g, 200) - 50);
}

const char *source(struct generator *g, char kind, enum level level)
{
	static const char *const uniform[] = { "%ctaid.x", "%nctaid.x", "%ntid.x", "%ctaid.y", "%ntid.y", "WARP_SZ" };
	static const char *const lane[] = { "%tid.x",	    "%tid.y",	    "%tid.z",	    "%laneid",
					    "%lanemask_lt", "%lanemask_ge", "%lanemask_eq", "%lin" };
	const uint32_t roll = any(g, 100);

	if (kind == 'c')
		return roll < 70 || level != LANE ? words("%u", any(g, roll < 5 ? 300 : 40))
						  : words("%%a%u", any(g, 5));
	if (kind == 'm' || kind == 'b')
		return words("%u", any(g, kind == 'm' ? 256 : 32));
	if (kind == 'n')
		return words("%d", chance(g, 50) ? (int)any(g, 50) + 1 : -(int)any(g, 1000) - 1);
	if (kind != 'i' || (level == LANE && roll < 55)) {
		const bool may_be_constant = kind != 'h' && kind != 'p';

		if (may_be_constant && roll >= 85)
			return constant(g, kind);
		return words("%%%c%u", kind == 'i' ? 'a' : kind, any(g, pool_size(kind)));
	}
	if (roll >= 88)
		return constant(g, kind);
	if (roll >= 80)
		return level == LANE ? lane[any(g, 8)] : uniform[any(g, 6)];
	if (level == LANE && roll < 65)
		return "%lin";
	if (level >= WARP && roll < 73)
		return any(g, 3) ? "%w0" : "%warp";
	return words("%%u%u", any(g, 2));
}

const char *target(struct generator *g, char kind, enum level level)
{
	if (kind == 'i' && level < LANE)
		return level == UNIFORM ? words("%%u%u", any(g, 2)) : "%w0";
	return words("%%%c%u", kind == 'i' ? 'a' : kind, any(g, pool_size(kind)));
}

/* An instruction whose result has the level. */
static void add_form(struct generator *g, const struct form *form, enum level level, const char *guard)
{
	emit(g, "\t%s%s %s", guard, form->text, target(g, form->kinds[0], level));
	for (const char *kind = form->kinds + 1; *kind; kind++)
		emit(g, ", %s", source(g, *kind, level));
	emit(g, ";\n");
}

static bool is_integer(const struct form *form)
{
	return strspn(form->kinds, "icnmb") == strlen(form->kinds);
}

static const struct form *choose_form(struct generator *g, bool integer)
{
	for (;;) {
		const struct form *form = &forms[any(g, sizeof(forms) / sizeof(*forms))];

		if (!integer || is_integer(form))
			return form;
	}
}

/* Several words that are added or subtracted as one number. */
static void add_carry(struct generator *g)
{
	const char *sub = chance(g, 50) ? "sub" : "add";

	emit(g, "\t%s.cc.u32 %s, %s, %s;\n", sub, target(g, 'i', LANE), source(g, 'i', LANE), source(g, 'i', LANE));
	if (chance(g, 50))
		emit(g, "\t%sc.cc.u32 %s, %s, %s;\n", sub, target(g, 'i', LANE), source(g, 'i', LANE),
		     source(g, 'i', LANE));
	emit(g, "\t%sc.u32 %s, %s, %s;\n", sub, target(g, 'i', LANE), source(g, 'i', LANE), source(g, 'i', LANE));
}

static void add_pack(struct generator *g)
{
	switch (any(g, 5)) {
	case 0:
		emit(g, "\tmov.b64 %s, {%s, %s};\n", target(g, 'l', LANE), target(g, 'i', LANE), target(g, 'i', LANE));
		break;
	case 1: emit(g, "\tmov.b64 {%%a0, %s}, %s;\n", chance(g, 30) ? "_" : "%a3", target(g, 'l', LANE)); break;
	case 2:
		emit(g, "\tmov.b32 %s, {%s, %s};\n", target(g, 'i', LANE), target(g, 's', LANE), target(g, 's', LANE));
		break;
	case 3: emit(g, "\tmov.b32 {%%s0, %%s1}, %s;\n", target(g, 'i', LANE)); break;
	default: emit(g, "\tmov.b64 {%%s1, _, %%s0, _}, %s;\n", target(g, 'l', LANE)); break;
	}
}

/* The bits of a float as an integer: of a number only, because NaNs have many forms. */
static void add_bits(struct generator *g)
{
	const char *f = target(g, 'f', LANE), *q = temporary(g, 'q'), *e = temporary(g, 'e');

	if (chance(g, 50)) {
		emit(g, "\tmov.b32 %s, %s;\n", f, target(g, 'i', LANE));
		return;
	}
	emit(g, "\tsetp.nan.f32 %s, %s, %s;\n\tselp.f32 %s, 0f40000000, %s, %s;\n\tmov.b32 %s, %s;\n", q, f, f, e, f, q,
	     target(g, 'i', LANE), e);
}

void add_arithmetic(struct generator *g, const struct context *context)
{
	const enum level level = chance(g, 75) ? LANE : context->level + any(g, LANE + 1 - context->level);
	const uint32_t roll = any(g, 100);
	char guard[24] = "";

	if (level == LANE && chance(g, 15))
		snprintf(guard, sizeof(guard), "@%s%%p%u ", chance(g, 50) ? "!" : "", any(g, 3));
	if (level == LANE && roll < 4)
		add_carry(g);
	else if (level == LANE && roll < 8)
		add_pack(g);
	else if (level == LANE && roll < 12)
		add_bits(g);
	else if (level == LANE && roll < 14)
		emit(g, "\tsetp.lt.and.s32 %%p0|%%p%u, %s, %s, %s%%p%u;\n", 1 + any(g, 2), source(g, 'i', LANE),
		     source(g, 'i', LANE), chance(g, 50) ? "!" : "", any(g, 3));
	else
		add_form(g, choose_form(g, level < LANE), level, guard);
}

const char *condition(struct generator *g, enum level level)
{
	static const char *const comparisons[] = { "lt.s32", "ge.s32", "eq.s32", "ne.s32", "lo.u32", "hi.u32" };
	const char *q = temporary(g, 'q');

	if (level == LANE && chance(g, 40)) {
		emit(g, "\tmov.pred %s, %%p%u;\n", q, any(g, 3));
	} else if (chance(g, 50)) {
		const char *t = temporary(g, 't');

		emit(g, "\tand.b32 %s, %s, %u;\n\tsetp.%s.s32 %s, %s, 0;\n", t, source(g, 'i', level), 1u << any(g, 5),
		     chance(g, 50) ? "eq" : "ne", q, t);
	} else {
		emit(g, "\tsetp.%s %s, %s, %s;\n", comparisons[any(g, 6)], q, source(g, 'i', level),
		     source(g, 'i', level));
	}
	return q;
}
