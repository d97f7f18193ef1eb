/* CUDA's vector types and how they are made. */
#define PE_VECTORS(type, name, wide)                                                               \
    struct name##1 { type x; };                                                                    \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; };                      \
    struct name##3 { type x, y, z; };                                                              \
    struct __attribute__((aligned(wide))) name##4 { type x, y, z, w; };                            \
    PE_OWN name##1 make_##name##1(type x) { return {x}; }                                          \
    PE_OWN name##2 make_##name##2(type x, type y) { return {x, y}; }                               \
    PE_OWN name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                    \
    PE_OWN name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

PE_VECTORS(signed char, char, 4)
PE_VECTORS(unsigned char, uchar, 4)
PE_VECTORS(short, short, 8)
PE_VECTORS(unsigned short, ushort, 8)
PE_VECTORS(int, int, 16)
PE_VECTORS(unsigned, uint, 16)
PE_VECTORS(float, float, 16)
PE_VECTORS(long long, longlong, 16)
PE_VECTORS(unsigned long long, ulonglong, 16)
PE_VECTORS(double, double, 16)
#undef PE_VECTORS

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
