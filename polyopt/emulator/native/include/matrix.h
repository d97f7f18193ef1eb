/* Matrix operations of a warp, in the layout of PTX `mma.sync.aligned.m16n8k*`.
 *
 * With g = lane / 4 and t = lane % 4: d[0], d[1] are (g, 2t) and (g, 2t + 1), d[2], d[3] the same
 * in row g + 8.  Registers of 16-bit numbers hold two: a[0] is (g, 2t) and (g, 2t + 1), a[1] row
 * g + 8, a[2] and a[3] the same in columns from 8; b[0] is (2t, g) and (2t + 1, g), b[1] rows from
 * 8.  With tf32, registers hold one: a[0] is (g, t), a[1] row g + 8, a[2], a[3] columns from 4;
 * b[0] is (t, g), b[1] row t + 4.
 */
struct PeFragments {
    unsigned a[4], b[2];
};

PE_OWN void pe_whole_warp(const PeFragments *own, PeFragments *all, int line)
{
    pe_warp(PE_WARP_MATRIX, 0xffffffffu, own, sizeof *own, all, line);
    for (unsigned lane = 0; lane < 32; lane++)
        pe_warp_source(0xffffffffu, lane, line);
}

template <class Value>
PE_OWN void pe_mma_pairs(float d[4], const unsigned a[4], const unsigned b[2], const float c[4],
                         Value value, int line)
{
    PeFragments own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, all[32];
    pe_whole_warp(&own, all, line);
    int lane = (int)(pe_linear_thread() % 32);
    for (int e = 0; e < 4; e++) {
        int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
        float sum = c[e];
        for (int k = 0; k < 16; k++) {
            unsigned left = all[row % 8 * 4 + k % 8 / 2].a[row / 8 + 2 * (k / 8)];
            unsigned right = all[column * 4 + k % 8 / 2].b[k / 8];
            sum += value((unsigned short)(left >> 16 * (k % 2)))
                   * value((unsigned short)(right >> 16 * (k % 2)));
        }
        d[e] = sum;
    }
}

PE_OWN void po_mma_m16n8k16_f16(float d[4], const unsigned a[4], const unsigned b[2],
                                const float c[4], PE_LINE)
{
    pe_mma_pairs(d, a, b, c, pe_half_value, line);
}

PE_OWN void po_mma_m16n8k16_bf16(float d[4], const unsigned a[4], const unsigned b[2],
                                 const float c[4], PE_LINE)
{
    pe_mma_pairs(d, a, b, c, pe_bfloat_value, line);
}

PE_OWN void po_mma_m16n8k8_tf32(float d[4], const unsigned a[4], const unsigned b[2],
                                const float c[4], PE_LINE)
{
    PeFragments own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, all[32];
    pe_whole_warp(&own, all, line);
    int lane = (int)(pe_linear_thread() % 32);
    for (int e = 0; e < 4; e++) {
        int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
        float sum = c[e];
        for (int k = 0; k < 8; k++) {
            unsigned left = all[row % 8 * 4 + k % 4].a[row / 8 + 2 * (k / 4)];
            unsigned right = all[column * 4 + k % 4].b[k / 4];
            sum += pe_bits<float>(left & 0xffffe000u) * pe_bits<float>(right & 0xffffe000u);
        }
        d[e] = sum;
    }
}

/* To tf32, the nearest, ties away from zero. */
PE_OWN unsigned po_tf32(float value)
{
    unsigned bits = pe_bits<unsigned>(value);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

PE_OWN void po_mma_m16n8k16_f16(float &d0, float &d1, float &d2, float &d3,
                                 const unsigned (&a)[4], const unsigned (&b)[2], PE_LINE)
{
    float d[4] = {d0, d1, d2, d3};
    po_mma_m16n8k16_f16(d, a, b, d, line);
    d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];
}

PE_OWN void po_mma_m16n8k16_bf16(float &d0, float &d1, float &d2, float &d3,
                                 const unsigned (&a)[4], const unsigned (&b)[2], PE_LINE)
{
    float d[4] = {d0, d1, d2, d3};
    po_mma_m16n8k16_bf16(d, a, b, d, line);
    d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];
}

PE_OWN void po_mma_m16n8k8_tf32(float &d0, float &d1, float &d2, float &d3,
                                 const unsigned (&a)[4], const unsigned (&b)[2], PE_LINE)
{
    float d[4] = {d0, d1, d2, d3};
    po_mma_m16n8k8_tf32(d, a, b, d, line);
    d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];
}

/* `ldmatrix`: lane l says where row l % 8 of 8 by 8 numbers number l / 8 begins, 16 bytes; of each
 * a lane gets two neighbours, (g, 2t) and (g, 2t + 1), or where they are turned (2t, g), (2t + 1, g).
 */
struct PeRow {
    unsigned short at[8];
};

PE_OWN void pe_ldmatrix(unsigned **results, unsigned count, int turned, const void *row, int line)
{
    PeRow own = {}, all[32];
    unsigned lane = pe_linear_thread() % 32;
    if (lane / 8 < count) {
        pe_plain(row, sizeof own, 0, line);
        __builtin_memcpy(&own, row, sizeof own);
    }
    pe_warp(PE_WARP_MATRIX, 0xffffffffu, &own, sizeof own, all, line);
    for (unsigned from = 0; from < 32; from++)
        pe_warp_source(0xffffffffu, from, line);
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned n = 0; n < count; n++) {
        const PeRow *of = all + 8 * n;
        unsigned low = turned ? of[2 * t].at[g] : of[g].at[2 * t];
        unsigned high = turned ? of[2 * t + 1].at[g] : of[g].at[2 * t + 1];
        *results[n] = low | high << 16;
    }
}

PE_OWN void po_ldmatrix_x2(unsigned &r0, unsigned &r1, const void *row, PE_LINE)
{
    unsigned *results[] = {&r0, &r1};
    pe_ldmatrix(results, 2, 0, row, line);
}

PE_OWN void po_ldmatrix_x2_trans(unsigned &r0, unsigned &r1, const void *row, PE_LINE)
{
    unsigned *results[] = {&r0, &r1};
    pe_ldmatrix(results, 2, 1, row, line);
}

PE_OWN void po_ldmatrix_x4(unsigned &r0, unsigned &r1, unsigned &r2, unsigned &r3, const void *row, PE_LINE)
{
    unsigned *results[] = {&r0, &r1, &r2, &r3};
    pe_ldmatrix(results, 4, 0, row, line);
}

PE_OWN void po_ldmatrix_x4_trans(unsigned &r0, unsigned &r1, unsigned &r2, unsigned &r3, const void *row, PE_LINE)
{
    unsigned *results[] = {&r0, &r1, &r2, &r3};
    pe_ldmatrix(results, 4, 1, row, line);
}
