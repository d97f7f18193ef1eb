/* Operations of a warp: each lane gives a value, and gets what it asks for from all of them. */
enum { PE_WARP_SYNC, PE_WARP_SHUFFLE, PE_WARP_VOTE, PE_WARP_MATRIX };

PE_OWN unsigned pe_linear_thread()
{
    PeDim at = pe_thread_index(), extents = pe_block_extents();
    return at.x + extents.x * (at.y + extents.y * at.z);
}

PE_OWN void __syncwarp(unsigned mask = 0xffffffffu, PE_LINE)
{
    pe_warp(PE_WARP_SYNC, mask, 0, 0, 0, line);
}

/* Which lanes run together is left open: here, each for itself. */
PE_OWN unsigned __activemask() { return 1u << pe_linear_thread() % 32; }

/* Lane `from` of the whole warp; `stays`: the source lies outside the segment. */
template <class T> PE_OWN T pe_shuffle(unsigned mask, T value, int from, bool stays, int line)
{
    T all[32];
    pe_warp(PE_WARP_SHUFFLE, mask, &value, sizeof value, all, line);
    if (stays)
        return value;
    pe_warp_source(mask, (unsigned)from & 31, line);
    return all[from & 31];
}

template <class T>
PE_OWN T __shfl_sync(unsigned mask, T value, int from, int width = 32, PE_LINE)
{
    int lane = (int)(pe_linear_thread() % 32), base = lane & ~(width - 1);
    return pe_shuffle(mask, value, base + (from & (width - 1)), false, line);
}

template <class T>
PE_OWN T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, PE_LINE)
{
    int lane = (int)(pe_linear_thread() % 32), base = lane & ~(width - 1), from = lane - (int)delta;
    return pe_shuffle(mask, value, from, from < base, line);
}

template <class T>
PE_OWN T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, PE_LINE)
{
    int lane = (int)(pe_linear_thread() % 32), base = lane & ~(width - 1), from = lane + (int)delta;
    return pe_shuffle(mask, value, from, from >= base + width, line);
}

template <class T>
PE_OWN T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, PE_LINE)
{
    int lane = (int)(pe_linear_thread() % 32), base = lane & ~(width - 1), from = lane ^ bits;
    return pe_shuffle(mask, value, from, from >= base + width, line);
}

PE_OWN unsigned pe_vote(unsigned mask, bool holds, int line)
{
    unsigned char all[32], given = holds ? 1 : 2;
    pe_warp(PE_WARP_VOTE, mask, &given, 1, all, line);
    unsigned votes = 0;
    for (int lane = 0; lane < 32; lane++)
        if (pe_warp_present() >> lane & 1 && all[lane] == 1)
            votes |= 1u << lane;
    return votes;
}

PE_OWN unsigned __ballot_sync(unsigned mask, int holds, PE_LINE)
{
    return pe_vote(mask, holds, line);
}
PE_OWN int __any_sync(unsigned mask, int holds, PE_LINE)
{
    return pe_vote(mask, holds, line) != 0;
}
PE_OWN int __all_sync(unsigned mask, int holds, PE_LINE)
{
    return pe_vote(mask, holds, line) == pe_warp_present();
}

template <class T, class Join> PE_OWN T pe_reduce(unsigned mask, T value, Join join, int line)
{
    T all[32];
    pe_warp(PE_WARP_SHUFFLE, mask, &value, sizeof value, all, line);
    T result = value;
    unsigned others = pe_warp_present() & ~(1u << pe_linear_thread() % 32);
    for (unsigned lane = 0; lane < 32; lane++)
        if (others >> lane & 1)
            result = join(result, all[lane]);
    return result;
}
#define PE_REDUCE(name, type, what)                                                                \
    PE_OWN type name(unsigned mask, type value, PE_LINE)                                           \
    {                                                                                              \
        return pe_reduce(mask, value, [](type x, type y) -> type { return what; }, line);          \
    }
PE_REDUCE(__reduce_add_sync, int, x + y)
PE_REDUCE(__reduce_add_sync, unsigned, x + y)
PE_REDUCE(__reduce_min_sync, int, y < x ? y : x)
PE_REDUCE(__reduce_min_sync, unsigned, y < x ? y : x)
PE_REDUCE(__reduce_max_sync, int, x < y ? y : x)
PE_REDUCE(__reduce_max_sync, unsigned, x < y ? y : x)
PE_REDUCE(__reduce_and_sync, unsigned, x &y)
PE_REDUCE(__reduce_or_sync, unsigned, x | y)
PE_REDUCE(__reduce_xor_sync, unsigned, x ^ y)
#undef PE_REDUCE
