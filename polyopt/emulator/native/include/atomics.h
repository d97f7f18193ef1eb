/* Atomic operations: threads run one at a time, so the plain operation is atomic. */
#define PE_ATOMIC(name, type, what)                                                                \
    PE_OWN type name(type *address, type value, PE_LINE)                                           \
    {                                                                                              \
        pe_atomic(address, sizeof(type), line);                                                    \
        type old = *address;                                                                       \
        *address = what;                                                                           \
        return old;                                                                                \
    }
#define PE_INTEGERS(type)                                                                          \
    PE_ATOMIC(atomicAdd, type, old + value)                                                        \
    PE_ATOMIC(atomicMin, type, value < old ? value : old)                                          \
    PE_ATOMIC(atomicMax, type, old < value ? value : old)                                          \
    PE_ATOMIC(atomicAnd, type, old & value)                                                        \
    PE_ATOMIC(atomicOr, type, old | value)                                                         \
    PE_ATOMIC(atomicXor, type, old ^ value)                                                        \
    PE_ATOMIC(atomicExch, type, value)                                                             \
    PE_OWN type atomicCAS(type *address, type expected, type value, PE_LINE)                       \
    {                                                                                              \
        pe_atomic(address, sizeof(type), line);                                                    \
        type old = *address;                                                                       \
        *address = old == expected ? value : old;                                                  \
        return old;                                                                                \
    }

PE_INTEGERS(int)
PE_INTEGERS(unsigned)
PE_INTEGERS(long long)
PE_INTEGERS(unsigned long long)
PE_ATOMIC(atomicSub, int, old - value)
PE_ATOMIC(atomicSub, unsigned, old - value)
PE_ATOMIC(atomicAdd, float, old + value)
PE_ATOMIC(atomicAdd, double, old + value)
PE_ATOMIC(atomicExch, float, value)
PE_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
PE_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef PE_ATOMIC
#undef PE_INTEGERS

/* Reads through the cache for data that nobody writes. */
template <class T> PE_OWN T __ldg(const T *address, PE_LINE)
{
    pe_plain(address, sizeof(T), 0, line);
    return *address;
}
template <class T> PE_OWN T __ldcg(const T *address, PE_LINE) { return __ldg(address, line); }
template <class T> PE_OWN T __ldca(const T *address, PE_LINE) { return __ldg(address, line); }
template <class T> PE_OWN T __ldcs(const T *address, PE_LINE) { return __ldg(address, line); }
template <class T> PE_OWN void __stcg(T *address, T value, PE_LINE)
{
    pe_plain(address, sizeof(T), 1, line);
    *address = value;
}
template <class T> PE_OWN void __stcs(T *address, T value, PE_LINE)
{
    __stcg(address, value, line);
}
