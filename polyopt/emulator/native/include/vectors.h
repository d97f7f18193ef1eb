/* CUDA's vector types and how they are made.
 *
 * The compiler's hooks do not see it as read when an element is handed to a function: pairs, which
 * complex numbers are, tell of their copies themselves.
 */
#ifdef __SANITIZE_THREAD__
#define PE_TOLD(type, name, unset)                                                                 \
    PE_UNSEEN constexpr name() : x((type)(unset)), y((type)(unset)) {}                             \
    PE_UNSEEN constexpr name(type x, type y) : x(x), y(y) {}                                       \
    PE_UNSEEN name(const name &from, PE_LINE)                                                      \
    {                                                                                              \
        pe_plain(&from, sizeof from, 0, line);                                                     \
        x = from.x, y = from.y;                                                                    \
    }                                                                                              \
    name &operator=(const name &) = default;
#else
#define PE_TOLD(type, name, unset)
#endif
#define PE_VECTORS(type, name, wide, unset)                                                        \
    struct name##1 { type x; };                                                                    \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 {                                    \
        type x, y;                                                                                 \
        PE_TOLD(type, name##2, unset)                                                              \
    };                                                                                             \
    struct name##3 { type x, y, z; };                                                              \
    struct __attribute__((aligned(wide))) name##4 { type x, y, z, w; };                            \
    PE_OWN name##1 make_##name##1(type x) { return {x}; }                                          \
    PE_OWN name##2 make_##name##2(type x, type y) { return {x, y}; }                               \
    PE_OWN name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                    \
    PE_OWN name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

PE_VECTORS(signed char, char, 4, -1)
PE_VECTORS(unsigned char, uchar, 4, -1)
PE_VECTORS(short, short, 8, -1)
PE_VECTORS(unsigned short, ushort, 8, -1)
PE_VECTORS(int, int, 16, -1)
PE_VECTORS(unsigned, uint, 16, -1)
PE_VECTORS(float, float, 16, __builtin_nan(""))
PE_VECTORS(long long, longlong, 16, -1)
PE_VECTORS(unsigned long long, ulonglong, 16, -1)
PE_VECTORS(double, double, 16, __builtin_nan(""))
#undef PE_VECTORS
#undef PE_TOLD

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
