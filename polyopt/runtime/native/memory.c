/* Memory of kernels' temporaries, kept for the next calls.
 *
 * The system hands out zeroed pages, and takes longer for it than a kernel may take to fill them;
 * what is given back to the C library goes back to the system where it is large, or at the end of
 * the heap.  What is kept is taken again by a kernel that needs as much, or a little less; of
 * several blocks that fit alike the one that came back last, which may still be in a cache.  The
 * longest unused goes first.
 */
#include "process.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 1 << 16, /* bytes; less than that comes from pages that the process has */
    MOST = 1 << 28,  /* bytes that are kept at any time */
    BLOCKS = 64,     /* that are lent, or kept, at a time; the C library has others */
};

typedef struct {
    void *place;
    size_t bytes;
} Block;

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static Block lent[BLOCKS], kept[BLOCKS]; /* kept: the longest unused first */
static size_t lent_blocks, kept_blocks, kept_bytes;

static Block take_out(Block *blocks, size_t *count, size_t index)
{
    Block block = blocks[index];
    memmove(blocks + index, blocks + index + 1, (--*count - index) * sizeof *blocks);
    return block;
}

static Block take_kept(size_t index)
{
    Block block = take_out(kept, &kept_blocks, index);
    kept_bytes -= block.bytes;
    return block;
}

static bool fits(const Block *block, size_t alignment, size_t bytes)
{
    return block->bytes >= bytes && block->bytes - bytes <= block->bytes / 4
        && (uintptr_t)block->place % alignment == 0;
}

/* Return a kept block that fits best; its place is NULL where none does. */
static Block kept_for(size_t alignment, size_t bytes)
{
    size_t best = kept_blocks;
    for (size_t index = 0; index < kept_blocks; index++)
        if (fits(&kept[index], alignment, bytes)
            && (best == kept_blocks || kept[index].bytes <= kept[best].bytes))
            best = index;
    return best < kept_blocks ? take_kept(best) : (Block){ NULL, 0 };
}

static void free_all_kept(void)
{
    pthread_mutex_lock(&counting);
    while (kept_blocks > 0)
        free(take_kept(0).place);
    pthread_mutex_unlock(&counting);
}

static void *take(size_t alignment, size_t bytes)
{
    if (bytes < LEAST)
        return aligned_alloc(alignment, bytes);
    pthread_mutex_lock(&counting);
    Block block = kept_for(alignment, bytes);
    pthread_mutex_unlock(&counting);
    if (block.place == NULL) {
        block = (Block){ aligned_alloc(alignment, bytes), bytes };
        if (block.place == NULL) {
            free_all_kept();
            block.place = aligned_alloc(alignment, bytes);
        }
    }
    pthread_mutex_lock(&counting);
    if (block.place != NULL && lent_blocks < BLOCKS)
        lent[lent_blocks++] = block;
    pthread_mutex_unlock(&counting);
    return block.place;
}

static void give(void *place)
{
    if (place == NULL)
        return;
    Block gone[BLOCKS + 1];
    size_t count = 0, index = 0;
    pthread_mutex_lock(&counting);
    while (index < lent_blocks && lent[index].place != place)
        index++;
    if (index < lent_blocks) {
        Block block = take_out(lent, &lent_blocks, index);
        if (kept_blocks == BLOCKS)
            gone[count++] = take_kept(0);
        kept[kept_blocks++] = block;
        kept_bytes += block.bytes;
        while (kept_bytes > MOST)
            gone[count++] = take_kept(0);
    }
    else
        gone[count++].place = place;
    pthread_mutex_unlock(&counting);
    while (count > 0)
        free(gone[--count].place);
}

const Memory po_memory = { take, give };

void po_before_fork_of_memory(void) { pthread_mutex_lock(&counting); }

void po_after_fork_of_memory(void) { pthread_mutex_unlock(&counting); }
