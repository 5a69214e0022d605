/* SPDX-License-Identifier: MIT */
/*
 * runtime_angle.h - sine and cosine in single precision, of any angle, in the C text of modules that are made of PTX,
 * after runtime_special.h. Loops over threads can vectorise them.
 */

/* 2 to the power of n + 4 less turns, as a sum; n: 1 to 100. The products of the first with 24 bits are exact. */
static const double ptx_turns[102] __attribute__((unused)) = {
	0x1p+0, 0x1.2b0bad5p-1, 0x1.2b0bad5p+0, 0x1.2b0bad5p+1, 0x1.2b0bad5p+2, 0x1.87ef4acp+1,
	0x1.87ef4acp+2, 0x1.7dbee05p+2, 0x1.695e0b6p+2, 0x1.409c618p+2, 0x1.de321bbp+1, 0x1.304999cp+0,
	0x1.304999cp+1, 0x1.304999cp+2, 0x1.9ce6fcap+1, 0x1.58e8ec1p-3, 0x1.58e8ec1p-2, 0x1.58e8ec1p-1,
	0x1.58e8ec1p+0, 0x1.58e8ec1p+1, 0x1.58e8ec1p+2, 0x1.1fb222ep+2, 0x1.5a8920fp+1, 0x1.5a8920fp+2,
	0x1.22f28cbp+2, 0x1.678ac84p+1, 0x1.678ac84p+2, 0x1.3cf5db4p+2, 0x1.cf9802bp+1, 0x1.ebc26b9p-1,
	0x1.ebc26b9p+0, 0x1.ebc26b9p+1, 0x1.668ad94p+0, 0x1.668ad94p+1, 0x1.668ad94p+2, 0x1.3af5fd4p+2,
	0x1.c7988a9p+1, 0x1.abc6aacp-1, 0x1.abc6aacp+0, 0x1.abc6aacp+1, 0x1.9a6f588p-2, 0x1.9a6f588p-1,
	0x1.9a6f588p+0, 0x1.9a6f588p+1, 0x1.09f4683p-3, 0x1.09f4683p-2, 0x1.09f4683p-1, 0x1.09f4683p+0,
	0x1.09f4683p+1, 0x1.09f4683p+2, 0x1.0392366p+1, 0x1.0392366p+2, 0x1.d412de4p+0, 0x1.d412de4p+1,
	0x1.07cca42p+0, 0x1.07cca42p+1, 0x1.07cca42p+2, 0x1.f5e64c5p+0, 0x1.f5e64c5p+1, 0x1.8f1a5c3p+0,
	0x1.8f1a5c3p+1, 0x1.8f1a5c3p+2, 0x1.8c15033p+2, 0x1.860a512p+2, 0x1.79f4edp+2, 0x1.61ca24dp+2,
	0x1.3174946p+2, 0x1.a192e71p+1, 0x1.ee66398p-3, 0x1.ee66398p-2, 0x1.ee66398p-1, 0x1.ee66398p+0,
	0x1.ee66398p+1, 0x1.711a111p+0, 0x1.711a111p+1, 0x1.711a111p+2, 0x1.50146cdp+2, 0x1.0e09247p+2,
	0x1.13e5275p+1, 0x1.13e5275p+2, 0x1.2b5532bp+1, 0x1.2b5532bp+2, 0x1.8915606p+1, 0x1.8915606p+2,
	0x1.800b0b8p+2, 0x1.6df661dp+2, 0x1.49cd0e5p+2, 0x1.017a677p+2, 0x1.c35466cp+0, 0x1.c35466cp+1,
	0x1.89a58c4p-1, 0x1.89a58c4p+0, 0x1.89a58c4p+1, 0x1.89a58c4p+2, 0x1.812b633p+2, 0x1.7037113p+2,
	0x1.4e4e6d3p+2, 0x1.0a7d251p+2, 0x1.05b529ep+1, 0x1.05b529ep+2, 0x1.e52a7a6p+0, 0x1p+0,
};
static const double ptx_turns_low[102] __attribute__((unused)) = {
	0x0p+0, 0x1.63d0d3e0a0805p-31, 0x1.63d0d3e0a0805p-30, 0x1.63d0d3e0a0805p-29, 0x1.63d0d3e0a0805p-28,
	0x1.b6ed46a6de9d7p-28, 0x1.b6ed46a6de9d7p-27, 0x1.cb00b98118127p-28, 0x1.42a688f3e6e0ep-27,
	0x1.fcf2e15a9c902p-27, 0x1.c62e48a01fba7p-29, 0x1.6af3cf0b7aae9p-29, 0x1.6af3cf0b7aae9p-28,
	0x1.6af3cf0b7aae9p-27, 0x1.3635b62710adep-29, 0x1.6055432b92ab6p-34, 0x1.6055432b92ab6p-33,
	0x1.6055432b92ab6p-32, 0x1.6055432b92ab6p-31, 0x1.6055432b92ab6p-30, 0x1.6055432b92ab6p-29,
	0x1.3e838844c120cp-30, 0x1.8e8d6307fe2d3p-28, 0x1.8e8d6307fe2d3p-27, 0x1.29812b0596518p-28,
	0x1.424df4f0ca3fdp-28, 0x1.424df4f0ca3fdp-27, 0x1.fc41b954634dfp-27, 0x1.c0a5086e55a96p-29,
	0x1.7f853a9f9a315p-31, 0x1.7f853a9f9a315p-30, 0x1.7f853a9f9a315p-29, 0x1.bb436614df386p-30,
	0x1.bb436614df386p-29, 0x1.bb436614df386p-28, 0x1.32e93587ae06dp-27, 0x1.baf0750455b7fp-28,
	0x1.94b223b92432cp-30, 0x1.94b223b92432cp-29, 0x1.94b223b92432cp-28, 0x1.8afe657e60255p-32,
	0x1.8afe657e60255p-31, 0x1.8afe657e60255p-30, 0x1.8afe657e60255p-29, 0x1.a4a0463fdc21ep-32,
	0x1.a4a0463fdc21ep-31, 0x1.a4a0463fdc21ep-30, 0x1.a4a0463fdc21ep-29, 0x1.a4a0463fdc21ep-28,
	0x1.a4a0463fdc21ep-27, 0x1.81ccb7e50e243p-28, 0x1.81ccb7e50e243p-27, 0x1.ecfcfcf3ac5b5p-29,
	0x1.ecfcfcf3ac5b5p-28, 0x1.928b3199eca6ep-29, 0x1.928b3199eca6ep-28, 0x1.928b3199eca6ep-27,
	0x1.cbc32a6a81c2ap-31, 0x1.cbc32a6a81c2ap-30, 0x1.aa5a6835bcfc4p-29, 0x1.aa5a6835bcfc4p-28,
	0x1.aa5a6835bcfc4p-27, 0x1.98b53fbc918dep-28, 0x1.105b0f2f605c4p-27, 0x1.985bedd18f86fp-27,
	0x1.50bb562bdbb89p-28, 0x1.90c24b3d550dep-28, 0x1.0d0356047b88ep-32, 0x1.0ec09a62d0debp-32,
	0x1.0ec09a62d0debp-31, 0x1.0ec09a62d0debp-30, 0x1.0ec09a62d0debp-29, 0x1.0ec09a62d0debp-28,
	0x1.999a7567eb471p-33, 0x1.999a7567eb471p-32, 0x1.999a7567eb471p-31, 0x1.aad91e1fcc375p-27,
	0x1.9ab01764ce79fp-28, 0x1.255e6d79d485fp-31, 0x1.255e6d79d485fp-30, 0x1.81fad5a287dfcp-28,
	0x1.81fad5a287dfcp-27, 0x1.ee6deadf7a37dp-29, 0x1.ee6deadf7a37dp-28, 0x1.6613ba5249063p-27,
	0x1.0f35105d836b3p-29, 0x1.ff4057a19084p-27, 0x1.76267eb5efd66p-27, 0x1.8fcb337ab9ec9p-29,
	0x1.8fcb337ab9ec9p-28, 0x1.dc40bb622ebdap-33, 0x1.dc40bb622ebdap-32, 0x1.dc40bb622ebdap-31,
	0x1.dc40bb622ebdap-30, 0x1.eeb5fe4b5a7ddp-27, 0x1.5511cc0983ca1p-27, 0x1.0e4b3c2eb313cp-30,
	0x1.bb389e7e7b936p-27, 0x1.dc2e18df8bea3p-28, 0x1.dc2e18df8bea3p-27, 0x1.8010098f35163p-30, 0x0p+0,
};

/* The sine of the angle and @quarters right angles. */
PTX_INLINE float ptx_sine_of(float x, uint64_t quarters)
{
	const uint32_t bits = ptx_b32(x);
	const int32_t exponent = (int32_t)(bits >> 23 & 255);
	/* A large number is an integer times a power of 2. */
	const int32_t power = exponent > 154 ? exponent - 154 : 0;
	const double part = power ? ptx_f32((bits & 0x807fffffu) | 150u << 23) : x;
	const double high = part * ptx_turns[power], low = part * ptx_turns_low[power];
	const double magic = (high + low) * 0x1.45f306dc9c883p-1 + 0x1.8p52, whole = magic - 0x1.8p52;
	/* Right angles as a sum of three numbers, of which the products with the first two are exact. */
	const double near = (high - whole * 0x1.921fb5p+0) - whole * 0x1.110b46p-26;
	const double r = near - whole * 0x1.1a62633145c07p-54 + low;
	const double z = r * r;
	const uint64_t quadrant = ptx_b64(magic) + quarters;
	double sine = 0x1.6cb78c33c153ep-19, cosine = -0x1.23c5e73185a31p-22, result;

	sine = PTX_MULTIPLY_ADD_D(sine, z, -0x1.a00ee92f705efp-13);
	sine = PTX_MULTIPLY_ADD_D(sine, z, 0x1.1111074d2eb6ap-7);
	sine = PTX_MULTIPLY_ADD_D(sine, z, -0x1.555555494bfa8p-3);
	/* The sum of zeros of both signs is +0. */
	sine = __builtin_copysign(PTX_MULTIPLY_ADD_D(sine * z, r, r), r);
	cosine = PTX_MULTIPLY_ADD_D(cosine, z, 0x1.a00e976f1699cp-16);
	cosine = PTX_MULTIPLY_ADD_D(cosine, z, -0x1.6c16b2d5dcbfap-10);
	cosine = PTX_MULTIPLY_ADD_D(cosine, z, 0x1.5555554479b64p-5);
	cosine = PTX_MULTIPLY_ADD_D(cosine, z, -0x1.ffffffffe37ebp-2);
	cosine = PTX_MULTIPLY_ADD_D(cosine, z, 1.0);
	result = quadrant & 1 ? cosine : sine;
	result = quadrant & 2 ? -result : result;
	return __builtin_fabsf(x) < __builtin_inff() ? (float)result : PTX_NAN;
}

PTX_INLINE float ptx_sinf(float x) { return ptx_sine_of(x, 0); }
PTX_INLINE float ptx_cosf(float x) { return ptx_sine_of(x, 1); }
