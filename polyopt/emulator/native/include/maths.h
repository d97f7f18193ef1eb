/* Functions of numbers, as CUDA declares them without an #include. */
#define PE_ONE(name)                                                                               \
    PE_OWN double name(double x) { return __builtin_##name(x); }                                   \
    PE_OWN float name(float x) { return __builtin_##name##f(x); }                                  \
    PE_OWN float name##f(float x) { return __builtin_##name##f(x); }
#define PE_TWO(name)                                                                               \
    PE_OWN double name(double x, double y) { return __builtin_##name(x, y); }                      \
    PE_OWN float name(float x, float y) { return __builtin_##name##f(x, y); }                      \
    PE_OWN float name##f(float x, float y) { return __builtin_##name##f(x, y); }

PE_ONE(sqrt) PE_ONE(cbrt) PE_ONE(exp) PE_ONE(exp2) PE_ONE(expm1) PE_ONE(log) PE_ONE(log2)
PE_ONE(log10) PE_ONE(log1p) PE_ONE(sin) PE_ONE(cos) PE_ONE(tan) PE_ONE(asin) PE_ONE(acos)
PE_ONE(atan) PE_ONE(sinh) PE_ONE(cosh) PE_ONE(tanh) PE_ONE(asinh) PE_ONE(acosh) PE_ONE(atanh)
PE_ONE(floor) PE_ONE(ceil) PE_ONE(trunc) PE_ONE(rint) PE_ONE(nearbyint) PE_ONE(round) PE_ONE(fabs)
PE_ONE(erf) PE_ONE(erfc) PE_ONE(tgamma) PE_ONE(lgamma) PE_ONE(exp10) PE_ONE(logb) PE_ONE(j0)
PE_ONE(j1) PE_ONE(y0) PE_ONE(y1)
PE_TWO(pow) PE_TWO(atan2) PE_TWO(fmod) PE_TWO(remainder) PE_TWO(hypot) PE_TWO(copysign)
PE_TWO(fmin) PE_TWO(fmax) PE_TWO(fdim) PE_TWO(nextafter)
#undef PE_ONE
#undef PE_TWO

PE_OWN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
PE_OWN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PE_OWN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PE_OWN double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
PE_OWN float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
PE_OWN float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
PE_OWN double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
PE_OWN float ldexp(float x, int e) { return __builtin_ldexpf(x, e); }
PE_OWN float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
PE_OWN double scalbn(double x, int e) { return __builtin_scalbn(x, e); }
PE_OWN float scalbnf(float x, int e) { return __builtin_scalbnf(x, e); }
PE_OWN int ilogb(double x) { return __builtin_ilogb(x); }
PE_OWN int ilogbf(float x) { return __builtin_ilogbf(x); }
PE_OWN double modf(double x, double *whole) { return __builtin_modf(x, whole); }
PE_OWN float modff(float x, float *whole) { return __builtin_modff(x, whole); }
PE_OWN double frexp(double x, int *e) { return __builtin_frexp(x, e); }
PE_OWN float frexpf(float x, int *e) { return __builtin_frexpf(x, e); }
PE_OWN void sincos(double x, double *s, double *c)
{
    *s = __builtin_sin(x);
    *c = __builtin_cos(x);
}
PE_OWN void sincosf(float x, float *s, float *c)
{
    *s = __builtin_sinf(x);
    *c = __builtin_cosf(x);
}

PE_OWN bool isnan(double x) { return __builtin_isnan(x); }
PE_OWN bool isnan(float x) { return __builtin_isnan(x); }
PE_OWN bool isinf(double x) { return __builtin_isinf(x); }
PE_OWN bool isinf(float x) { return __builtin_isinf(x); }
PE_OWN bool isfinite(double x) { return __builtin_isfinite(x); }
PE_OWN bool isfinite(float x) { return __builtin_isfinite(x); }
PE_OWN bool signbit(double x) { return __builtin_signbit(x); }
PE_OWN bool signbit(float x) { return __builtin_signbit(x); }

PE_OWN int abs(int x) { return x < 0 ? -x : x; }
PE_OWN long abs(long x) { return x < 0 ? -x : x; }
PE_OWN long long abs(long long x) { return x < 0 ? -x : x; }
PE_OWN double abs(double x) { return __builtin_fabs(x); }
PE_OWN float abs(float x) { return __builtin_fabsf(x); }
PE_OWN long long llabs(long long x) { return x < 0 ? -x : x; }

#define PE_LEAST(type)                                                                             \
    PE_OWN type min(type x, type y) { return y < x ? y : x; }                                      \
    PE_OWN type max(type x, type y) { return x < y ? y : x; }
PE_LEAST(int) PE_LEAST(unsigned) PE_LEAST(long) PE_LEAST(unsigned long)
PE_LEAST(long long) PE_LEAST(unsigned long long)
#undef PE_LEAST
PE_OWN float min(float x, float y) { return __builtin_fminf(x, y); }
PE_OWN float max(float x, float y) { return __builtin_fmaxf(x, y); }
PE_OWN double min(double x, double y) { return __builtin_fmin(x, y); }
PE_OWN double max(double x, double y) { return __builtin_fmax(x, y); }

/* One rounding each, never joined by the compiler (the text is compiled without contraction). */
PE_OWN float __fadd_rn(float x, float y) { return x + y; }
PE_OWN float __fsub_rn(float x, float y) { return x - y; }
PE_OWN float __fmul_rn(float x, float y) { return x * y; }
PE_OWN float __fdiv_rn(float x, float y) { return x / y; }
PE_OWN float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PE_OWN float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
PE_OWN float __frcp_rn(float x) { return 1.0f / x; }
PE_OWN double __dadd_rn(double x, double y) { return x + y; }
PE_OWN double __dsub_rn(double x, double y) { return x - y; }
PE_OWN double __dmul_rn(double x, double y) { return x * y; }
PE_OWN double __ddiv_rn(double x, double y) { return x / y; }
PE_OWN double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
PE_OWN double __dsqrt_rn(double x) { return __builtin_sqrt(x); }

/* Fast ones: at least as exact here as on a device. */
PE_OWN float __expf(float x) { return __builtin_expf(x); }
PE_OWN float __logf(float x) { return __builtin_logf(x); }
PE_OWN float __log2f(float x) { return __builtin_log2f(x); }
PE_OWN float __sinf(float x) { return __builtin_sinf(x); }
PE_OWN float __cosf(float x) { return __builtin_cosf(x); }
PE_OWN float __powf(float x, float y) { return __builtin_powf(x, y); }
PE_OWN float __fdividef(float x, float y) { return x / y; }
PE_OWN float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

/* Bits. */
template <class To, class From> PE_OWN To pe_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "other size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
PE_OWN int __float_as_int(float x) { return pe_bits<int>(x); }
PE_OWN unsigned __float_as_uint(float x) { return pe_bits<unsigned>(x); }
PE_OWN float __int_as_float(int x) { return pe_bits<float>(x); }
PE_OWN float __uint_as_float(unsigned x) { return pe_bits<float>(x); }
PE_OWN long long __double_as_longlong(double x) { return pe_bits<long long>(x); }
PE_OWN double __longlong_as_double(long long x) { return pe_bits<double>(x); }
PE_OWN int __popc(unsigned x) { return __builtin_popcount(x); }
PE_OWN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
PE_OWN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
PE_OWN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
PE_OWN int __ffs(int x) { return __builtin_ffs(x); }
PE_OWN int __ffsll(long long x) { return __builtin_ffsll(x); }
PE_OWN int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
PE_OWN unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x * y) >> 32);
}
PE_OWN long long __mul64hi(long long x, long long y)
{
    return (long long)(((__int128)x * y) >> 64);
}
PE_OWN unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return (unsigned long long)(((unsigned __int128)x * y) >> 64);
}
PE_OWN unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (int k = 0; k < 32; k++)
        reversed |= (x >> k & 1) << (31 - k);
    return reversed;
}

/* Conversions. */
PE_OWN int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
PE_OWN int __float2int_rz(float x) { return (int)x; }
PE_OWN int __float2int_rd(float x) { return (int)__builtin_floorf(x); }
PE_OWN int __double2int_rn(double x) { return (int)__builtin_rint(x); }
PE_OWN long long __double2ll_rn(double x) { return (long long)__builtin_rint(x); }
PE_OWN long long __double2ll_rz(double x) { return (long long)x; }
PE_OWN float __double2float_rn(double x) { return (float)x; }
