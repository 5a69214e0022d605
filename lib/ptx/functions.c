/* SPDX-License-Identifier: MIT */
/* functions.c - see functions.h. */
#include "functions.h"

#include <string.h>

static const struct adsm_ptx_math list[] = {
	{ "expf", 'f', "f", "ptx_expf($1)" }, { "exp2f", 'f', "f", "ptx_exp2f($1)" },
	{ "exp10f", 'f', "f", "ptx_exp10f($1)" }, { "logf", 'f', "f", "ptx_logf($1)" },
	{ "log2f", 'f', "f", "ptx_log2f($1)" }, { "log10f", 'f', "f", "ptx_log10f($1)" },
	{ "sinf", 'f', "f", "ptx_sinf($1)" }, { "cosf", 'f', "f", "ptx_cosf($1)" },
	{ "sincosf", 'v', "fpp", "*(float volatile *)$2 = ptx_sinf($1), *(float volatile *)$3 = ptx_cosf($1)" },
	{ "powf", 'f', "ff", "ptx_powf($1, $2)" },
	{ "acos", 'r', "r", NULL }, { "acosh", 'r', "r", NULL }, { "asin", 'r', "r", NULL },
	{ "asinh", 'r', "r", NULL }, { "atan", 'r', "r", NULL }, { "atan2", 'r', "rr", NULL },
	{ "atanh", 'r', "r", NULL }, { "cbrt", 'r', "r", NULL }, { "ceil", 'r', "r", NULL },
	{ "copysign", 'r', "rr", NULL }, { "cos", 'r', "r", NULL }, { "cosh", 'r', "r", NULL },
	{ "erf", 'r', "r", NULL }, { "erfc", 'r', "r", NULL }, { "exp", 'r', "r", NULL }, { "exp2", 'r', "r", NULL },
	{ "expm1", 'r', "r", NULL }, { "fabs", 'r', "r", NULL }, { "fdim", 'r', "rr", NULL },
	{ "floor", 'r', "r", NULL }, { "fma", 'r', "rrr", NULL }, { "fmax", 'r', "rr", NULL },
	{ "fmin", 'r', "rr", NULL }, { "fmod", 'r', "rr", NULL }, { "hypot", 'r', "rr", NULL },
	{ "ilogb", 'i', "r", NULL }, { "j0", 'r', "r", NULL }, { "j1", 'r', "r", NULL }, { "jn", 'r', "ir", NULL },
	{ "ldexp", 'r', "ri", NULL }, { "lgamma", 'r', "r", NULL }, { "llrint", 'l', "r", NULL },
	{ "llround", 'l', "r", NULL }, { "log", 'r', "r", NULL }, { "log10", 'r', "r", NULL },
	{ "log1p", 'r', "r", NULL }, { "log2", 'r', "r", NULL }, { "logb", 'r', "r", NULL },
	{ "nearbyint", 'r', "r", NULL }, { "nextafter", 'r', "rr", NULL }, { "pow", 'r', "rr", NULL },
	{ "remainder", 'r', "rr", NULL }, { "rint", 'r', "r", NULL }, { "round", 'r', "r", NULL },
	{ "scalbn", 'r', "ri", NULL }, { "sin", 'r', "r", NULL }, { "sinh", 'r', "r", NULL },
	{ "sqrt", 'r', "r", NULL },
	{ "tan", 'r', "r", NULL }, { "tanh", 'r', "r", NULL }, { "tgamma", 'r', "r", NULL },
	{ "trunc", 'r', "r", NULL },
	{ "y0", 'r', "r", NULL }, { "y1", 'r', "r", NULL }, { "yn", 'r', "ir", NULL },
	{ "exp10", 'r', "r", "__builtin_exp10@($1)" },
	{ "rsqrt", 'r', "r", "1 / sqrt@($1)" },
	{ "rcbrt", 'r', "r", "1 / cbrt@($1)" },
	{ "rhypot", 'r', "rr", "1 / hypot@($1, $2)" },
	{ "norm3d", 'r', "rrr", "hypot@(hypot@($1, $2), $3)" }, { "norm3df", 'f', "fff", "hypotf(hypotf($1, $2), $3)" },
	{ "rnorm3d", 'r', "rrr", "1 / hypot@(hypot@($1, $2), $3)" },
	/* In double precision, as not every integer is a float. */
	{ "powi", 'r', "ri", "(#)pow((double)$1, $2)" },
	{ "erfinv", 'r', "r", "(#)ptx_erfinv($1)" },
	{ "erfcinv", 'r', "r", "(#)ptx_erfcinv($1)" },
	{ "erfcx", 'r', "r", "(#)ptx_erfcx($1)" },
	{ "normcdfinv", 'r', "r", "(#)ptx_normcdfinv($1)" },
	{ "cyl_bessel_i0", 'r', "r", "(#)ptx_bessel_i(0, $1)" },
	{ "cyl_bessel_i1", 'r', "r", "(#)ptx_bessel_i(1, $1)" },
	{ "normcdf", 'r', "r", "(#)ptx_normcdf($1)" },
	{ "sinpi", 'r', "r", "(#)ptx_sinpi($1)" },
	{ "cospi", 'r', "r", "(#)ptx_cospi($1)" },
	{ "sincos", 'v', "rpp", "*(#volatile *)$2 = sin@($1), *(#volatile *)$3 = cos@($1)" },
	{ "sincospi", 'v', "rpp", "*(#volatile *)$2 = (#)ptx_sinpi($1), *(#volatile *)$3 = (#)ptx_cospi($1)" },
	{ "modf", 'r', "rp", "modf@($1, (#*)$2)" },
	{ "frexp", 'r', "rp", "frexp@($1, (int *)$2)" },
	{ "remquo", 'r', "rrp", "remquo@($1, $2, (int *)$3)" },
	{ "saturatef", 'f', "f", "ptx_sat_f32($1)" },
	{ "isnand", 'i', "d", "$1 != $1" }, { "isnanf", 'i', "f", "$1 != $1" },
	{ "isinfd", 'i', "d", "ptx_infinite_f64($1)" }, { "isinff", 'i', "f", "ptx_infinite_f32($1)" },
	{ "isfinited", 'i', "d", "ptx_finite_f64($1)" }, { "finitef", 'i', "f", "ptx_finite_f32($1)" },
	{ "signbitd", 'i', "d", "(int32_t)(ptx_b64($1) >> 63)" },
	{ "signbitf", 'i', "f", "(int32_t)(ptx_b32($1) >> 31)" },
	{ "fast_cosf", 'f', "f", "ptx_cos($1)" }, { "fast_sinf", 'f', "f", "ptx_sin($1)" },
	{ "fast_tanf", 'f', "f", "ptx_sin($1) / ptx_cos($1)" },
	{ "fast_sincosf", 'v', "fpp", "*(float volatile *)$2 = ptx_sin($1), *(float volatile *)$3 = ptx_cos($1)" },
	{ "fast_expf", 'f', "f", "ptx_ex2($1 * 0x1.715476p+0f)" },
	{ "fast_exp10f", 'f', "f", "ptx_ex2($1 * 0x1.a934f0p+1f)" },
	{ "fast_logf", 'f', "f", "ptx_lg2($1) * 0x1.62e430p-1f" }, { "fast_log2f", 'f', "f", "ptx_lg2($1)" },
	{ "fast_log10f", 'f', "f", "ptx_lg2($1) * 0x1.344136p-2f" },
	{ "fast_powf", 'f', "ff", "ptx_ex2($2 * ptx_lg2($1))" },
	{ "fast_fdividef", 'f', "ff", "ptx_div_approx($1, $2)" },
	{ "abs", 'i', "i", "$1 < 0 ? -$1 : $1" }, { "llabs", 'l', "l", "$1 < 0 ? -$1 : $1" },
};

const struct adsm_ptx_math *adsm_ptx_math_find(const char *name, bool *ret_single)
{
	static const char prefix[] = "__nv_";
	size_t size;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	name += sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (!strcmp(list[i].name, name)) {
			*ret_single = false;
			return &list[i];
		}
	}
	size = strlen(name);
	if (!size || name[size - 1] != 'f')
		return NULL;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (strlen(list[i].name) == size - 1 && !strncmp(list[i].name, name, size - 1) &&
		    (list[i].result == 'r' || strchr(list[i].arguments, 'r'))) {
			*ret_single = true;
			return &list[i];
		}
	}
	return NULL;
}

void adsm_ptx_math_leave_out(struct adsm_ptx_module *module)
{
	bool single;

	for (uint32_t i = 0; i < module->n_functions; i++) {
		struct adsm_ptx_function *function = module->functions[i];

		if (!function->is_entry && adsm_ptx_math_find(function->name, &single))
			function->has_body = false;
	}
}

enum adsm_ptx_type adsm_ptx_math_type(char letter, bool single)
{
	switch (letter) {
	case 'r': return single ? ADSM_PTX_f32 : ADSM_PTX_f64;
	case 'd': return ADSM_PTX_f64;
	case 'f': return ADSM_PTX_f32;
	case 'i': return ADSM_PTX_s32;
	case 'u': return ADSM_PTX_u32;
	case 'l': return ADSM_PTX_s64;
	case 'p': return ADSM_PTX_u64;
	default: return ADSM_PTX_NO_TYPE;
	}
}
