/* How a kernel is called: its arguments' addresses, one after another. */
struct PeEntry {
    void (*call)(void **arguments);
    int count;
    const unsigned char *sizes;
    const char *kinds; /* p: pointer, f: floating point, i: integer, o: other */
};

template <class T, bool = __is_class(T)> struct pe_kind {
    static constexpr char value = T(0.5f) != T(0) ? 'f' : 'i';
};
template <class T> struct pe_kind<T, true> { static constexpr char value = 'o'; };
template <class T> struct pe_kind<T *, false> { static constexpr char value = 'p'; };
template <> struct pe_kind<bool, false> { static constexpr char value = 'i'; };

template <int... Numbers> struct PeNumbers {};

/* Arguments lie in memory of the host: their bytes are taken without a word. */
template <class T> PE_UNSEEN T pe_argument(const void *place)
{
    T value;
    __builtin_memcpy((void *)&value, place, sizeof value);
    return value;
}

template <class... P> struct PeCaller {
    static constexpr unsigned char sizes[sizeof...(P) + 1] = {sizeof(P)..., 0};
    static constexpr char kinds[sizeof...(P) + 1] = {pe_kind<P>::value..., 0};
    template <int... K>
    __attribute__((no_sanitize("thread", "undefined"), no_sanitize_coverage)) static void
    call(void (*kernel)(P...), void **arguments, PeNumbers<K...>)
    {
        kernel(pe_argument<P>(arguments[K])...);
    }
};

template <class... P> constexpr PeEntry pe_entry(void (*)(P...), void (*call)(void **))
{
    return {call, sizeof...(P), PeCaller<P...>::sizes, PeCaller<P...>::kinds};
}
template <class... P>
__attribute__((no_sanitize("thread", "undefined"), no_sanitize_coverage)) void
pe_call(void (*kernel)(P...), void **arguments)
{
    PeCaller<P...>::call(kernel, arguments, PeNumbers<__integer_pack(sizeof...(P))...>());
}

#define PE_ENTRY(name)                                                                             \
    static void pe_call_##name(void **arguments) { pe_call(name, arguments); }                     \
    extern "C" const PeEntry pe_entry_##name = pe_entry(name, pe_call_##name);
