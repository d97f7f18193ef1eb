/* Asynchronous copies into shared memory: `taken` bytes are read, the rest becomes zero. */
PE_OWN void po_cp_async4(void *to, const void *from, int taken = 4, PE_LINE)
{
    pe_copy(to, from, 4, (unsigned)taken, line);
}
PE_OWN void po_cp_async8(void *to, const void *from, int taken = 8, PE_LINE)
{
    pe_copy(to, from, 8, (unsigned)taken, line);
}
PE_OWN void po_cp_async16(void *to, const void *from, int taken = 16, PE_LINE)
{
    pe_copy(to, from, 16, (unsigned)taken, line);
}
PE_OWN void po_cp_async_commit() { pe_copy_commit(); }
template <int Open> PE_OWN void po_cp_async_wait() { pe_copy_wait(Open); }

/* The same by the names of <cuda_pipeline_primitives.h>; `zeros` bytes at the end are not read. */
PE_OWN void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0,
                                    PE_LINE)
{
    pe_copy(to, from, (unsigned)size, (unsigned)(size - zeros), line);
}
PE_OWN void __pipeline_commit() { pe_copy_commit(); }
PE_OWN void __pipeline_wait_prior(size_t open) { pe_copy_wait((unsigned)open); }
