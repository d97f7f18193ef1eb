/* Arrays in .npy files and in .npz archives that are not compressed. */
/* SPDX-License-Identifier: MIT-0 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "po_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_HEADER = 1 << 16 };    /* bytes of a header */

/* What is read: `left` bytes of a file, `crc` of those that were read. */
typedef struct {
    FILE *file;
    const char *path, *name;
    uint64_t left;
    uint32_t crc;
} part;

uint32_t po_crc(uint32_t crc, const void *data, size_t bytes)
{
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t k = 0; k < 256; k++) {
            uint32_t value = k;
            for (int bit = 0; bit < 8; bit++)
                value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
            table[k] = value;
        }
    const unsigned char *byte = data;
    crc = ~crc;
    for (size_t k = 0; k < bytes; k++)
        crc = table[(crc ^ byte[k]) & 255] ^ crc >> 8;
    return ~crc;
}

static FILE *open_file(const char *path, uint64_t *size)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        po_error("%s cannot be read: %s", po_quoted(path), strerror(errno));
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        po_error("%s cannot be read: it is not a regular file", po_quoted(path));
        return NULL;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        po_error("%s cannot be read: %s", po_quoted(path), strerror(errno));
    *size = (uint64_t)status.st_size;
    return file;
}

static int damaged(const part *from, const char *reason)
{
    if (from->name == NULL)
        return po_error("%s: %s", po_quoted(from->path), reason);
    return po_error("%s, array %s: %s", po_quoted(from->path), po_quoted(from->name), reason);
}

static int take(part *from, void *data, size_t bytes)
{
    if (bytes > from->left || fread(data, 1, bytes, from->file) != bytes)
        return damaged(from, "it ends too early");
    from->left -= bytes;
    from->crc = po_crc(from->crc, data, bytes);
    return 1;
}

static uint64_t little(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

/* --- the header of an .npy file, a dictionary as Python writes it ------------------------------ */

static const char *blanks(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\t')
        at++;
    return at;
}

/* Return what follows a string, which is copied; NULL where there is none, or one too long. */
static const char *string_at(const char *at, char *text, size_t most)
{
    char quote = *at;
    size_t length = 0;
    if (quote != '\'' && quote != '"')
        return NULL;
    for (at++; *at != quote; at++) {
        if (*at == 0 || *at == '\\' || length + 1 >= most)
            return NULL;
        text[length++] = *at;
    }
    text[length] = 0;
    return at + 1;
}

static const char *shape_at(const char *at, po_array *array, const char **reason)
{
    *reason = "the shape in its header cannot be read";
    if (*at++ != '(')
        return NULL;
    for (array->rank = 0; *(at = blanks(at)) != ')'; array->rank++) {
        if (array->rank == PO_RANKS) {
            *reason = "it has more than 64 dimensions";
            return NULL;
        }
        int64_t extent = 0;
        if (*at < '0' || *at > '9')
            return NULL;
        for (; *at >= '0' && *at <= '9'; at++) {
            extent = 10 * extent + (*at - '0');
            if (extent > PO_LIMIT) {
                *reason = "an extent in its header is larger than 2**48";
                return NULL;
            }
        }
        array->shape[array->rank] = extent;
        at = blanks(*at == 'L' ? at + 1 : at);
        if (*at == ',')
            at++;
        else if (*at != ')')
            return NULL;
    }
    return at + 1;
}

int po_size_of_code(const char *code) { return atoi(code + 1); }

static const char *set_code(po_array *array, const char *descr)
{
    static const char *const known[] = { "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4",
                                         "u8", "f2", "f4", "f8", "c8", "c16", "V2" };
    if (*descr == '>')
        return "it is big-endian; write array.astype(array.dtype.newbyteorder('<'))";
    if (*descr != '<' && *descr != '|' && *descr != '=')
        return "its type cannot be read";
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(descr + 1, known[k]) == 0) {
            strcpy(array->code, known[k]);
            return NULL;
        }
    return descr[1] == 'O' ? "it is an array of Python objects" : "its type is none of the kernels'";
}

/* Return NULL, or why the header cannot be read. */
static const char *read_header(const char *at, po_array *array)
{
    char key[32], descr[16];
    int found = 0;
    const char *reason = "its header cannot be read";
    at = blanks(at);
    if (*at++ != '{')
        return reason;
    while (*(at = blanks(at)) != '}') {
        at = string_at(at, key, sizeof key);
        if (at == NULL || *(at = blanks(at)) != ':')
            return reason;
        at = blanks(at + 1);
        if (strcmp(key, "descr") == 0) {
            if (*at == '[')
                return "it is an array of records";
            at = string_at(at, descr, sizeof descr);
            if (at == NULL)
                return reason;
            const char *bad = set_code(array, descr);
            if (bad != NULL)
                return bad;
            found |= 1;
        } else if (strcmp(key, "fortran_order") == 0) {
            if (strncmp(at, "True", 4) == 0)
                return "it is in Fortran order; write np.ascontiguousarray(array)";
            if (strncmp(at, "False", 5) != 0)
                return reason;
            at += 5;
            found |= 2;
        } else if (strcmp(key, "shape") == 0) {
            const char *bad;
            at = shape_at(at, array, &bad);
            if (at == NULL)
                return bad;
            found |= 4;
        } else
            return reason;
        at = blanks(at);
        if (*at == ',')
            at++;
        else if (*at != '}')
            return reason;
    }
    return found == 7 ? NULL : reason;
}

/* --- arrays ------------------------------------------------------------------------------------ */

int po_allocate(po_array *array, const char *name)
{
    if (!po_bytes(array, &array->bytes) || array->bytes > PTRDIFF_MAX - 64)
        return po_error("%s would have more bytes than there is memory", po_quoted(name));
    array->data = aligned_alloc(64, (array->bytes + 64) / 64 * 64);
    if (array->data == NULL)
        return po_error("there is no memory for the %zu bytes of %s", array->bytes, po_quoted(name));
    return 1;
}

static int read_array(part *from, po_array *array)
{
    unsigned char start[12];
    if (!take(from, start, 10))
        return 0;
    if (memcmp(start, "\x93NUMPY", 6) != 0)
        return damaged(from, "it is not an .npy file");
    int wide_length = start[6] > 1;
    if (start[6] < 1 || start[6] > 3)
        return damaged(from, "its version of the .npy format is not known");
    if (wide_length && !take(from, start + 10, 2))
        return 0;
    size_t length = (size_t)little(start + 8, wide_length ? 4 : 2);
    if (length > MOST_HEADER)
        return damaged(from, "its header is too long");
    char *header = malloc(length + 1);
    if (header == NULL)
        return po_error("there is no memory for a header");
    header[length] = 0;
    int good = take(from, header, length);
    if (good) {
        const char *reason = read_header(header, array);
        good = reason == NULL || damaged(from, reason);
    }
    free(header);
    size_t bytes;
    if (!good)
        return 0;
    if (!po_bytes(array, &bytes) || bytes > from->left)
        return damaged(from, "it ends before its last element");
    if (!po_allocate(array, from->name))
        return 0;
    if (!take(from, array->data, array->bytes))
        return 0;
    if (strcmp(array->code, "b1") == 0)
        for (size_t k = 0; k < array->bytes; k++)
            ((unsigned char *)array->data)[k] = ((unsigned char *)array->data)[k] != 0;
    return 1;
}

int po_is_npy(const char *path, int *is_npy)
{
    uint64_t size;
    char start[6];
    FILE *file = open_file(path, &size);
    if (file == NULL)
        return 0;
    *is_npy = fread(start, 1, 6, file) == 6 && memcmp(start, "\x93NUMPY", 6) == 0;
    fclose(file);
    return 1;
}

int po_read_npy(const char *path, const char *name, po_array *array)
{
    part from = { .path = path, .name = name };
    from.file = open_file(path, &from.left);
    if (from.file == NULL)
        return 0;
    int good = read_array(&from, array);
    if (good && from.left != 0)
        good = damaged(&from, "there are bytes behind its last element");
    fclose(from.file);
    return good;
}

/* --- archives ---------------------------------------------------------------------------------- */

typedef struct {
    uint64_t size, stored, offset;
    uint32_t crc;
    unsigned flags, method;
} member;

/* Take the sizes that do not fit 32 bits from an entry's further fields. */
static int widen(const unsigned char *extra, size_t length, member *entry)
{
    uint64_t *const values[] = { &entry->size, &entry->stored, &entry->offset };
    int need = 0;
    for (int k = 0; k < 3; k++)
        need += *values[k] == UINT32_MAX;
    while (need > 0 && length >= 4) {
        size_t size = (size_t)little(extra + 2, 2);
        if (size > length - 4)
            return 0;
        if (little(extra, 2) == 1) {
            const unsigned char *at = extra + 4, *end = at + size;
            for (int k = 0; k < 3; k++)
                if (*values[k] == UINT32_MAX) {
                    if (end - at < 8)
                        return 0;
                    *values[k] = little(at, 8);
                    at += 8;
                }
            return 1;
        }
        extra += 4 + size;
        length -= 4 + size;
    }
    return need == 0;
}

static int read_member(part *archive, const member *entry, uint64_t size, po_array *array)
{
    unsigned char local[30];
    if (entry->flags & 1)
        return damaged(archive, "it is encrypted");
    if (entry->method != 0)
        return damaged(archive, "it is compressed; write the archive with np.savez");
    if (entry->offset > size || size - entry->offset < sizeof local)
        return damaged(archive, "it is outside the archive");
    if (fseeko(archive->file, (off_t)entry->offset, SEEK_SET) != 0
        || fread(local, 1, sizeof local, archive->file) != sizeof local
        || memcmp(local, "PK\3\4", 4) != 0)
        return damaged(archive, "it is not where the archive says");
    uint64_t start = entry->offset + 30 + little(local + 26, 2) + little(local + 28, 2);
    if (start > size || entry->size > size - start || entry->size != entry->stored)
        return damaged(archive, "it ends too early");
    if (fseeko(archive->file, (off_t)start, SEEK_SET) != 0)
        return damaged(archive, strerror(errno));
    archive->left = entry->size;
    archive->crc = 0;
    if (!read_array(archive, array))
        return 0;
    if (archive->left != 0 || archive->crc != entry->crc)
        return damaged(archive, "its checksum is another one: the file is damaged");
    return 1;
}

/* Return the archive's directory, `size` bytes of it with `count` entries; NULL: an error. */
static unsigned char *directory_of(const part *archive, uint64_t total, size_t *size, int *count)
{
    enum { RECORD = 22, TAIL = RECORD + 65535 };
    size_t length = total < TAIL ? (size_t)total : TAIL;
    unsigned char *tail = malloc(length + 1), *directory = NULL;
    if (tail == NULL || fseeko(archive->file, (off_t)(total - length), SEEK_SET) != 0
        || fread(tail, 1, length, archive->file) != length) {
        damaged(archive, "it cannot be read");
        goto done;
    }
    size_t at = length < RECORD ? 0 : length - RECORD + 1;
    while (at > 0 && memcmp(tail + at - 1, "PK\5\6", 4) != 0)
        at--;
    if (at == 0) {
        damaged(archive, "it is not a whole .npz or .npy file");
        goto done;
    }
    const unsigned char *record = tail + at - 1;
    *count = (int)little(record + 10, 2);
    *size = (size_t)little(record + 12, 4);
    uint64_t offset = little(record + 16, 4);
    if (*count == 65535 || offset == UINT32_MAX) {    /* the wide record stands before this one */
        const unsigned char *locator = record - 20;
        unsigned char whole[56];
        if (record - tail < 20 || memcmp(locator, "PK\6\7", 4) != 0
            || little(locator + 8, 8) > total
            || fseeko(archive->file, (off_t)little(locator + 8, 8), SEEK_SET) != 0
            || fread(whole, 1, sizeof whole, archive->file) != sizeof whole
            || memcmp(whole, "PK\6\6", 4) != 0 || little(whole + 32, 8) > 1000000) {
            damaged(archive, "its directory cannot be read");
            goto done;
        }
        *count = (int)little(whole + 32, 8);
        *size = (size_t)little(whole + 40, 8);
        offset = little(whole + 48, 8);
    }
    if (offset > total || *size > total - offset) {
        damaged(archive, "its directory is not a part of it");
        goto done;
    }
    directory = malloc(*size + 1);
    if (directory == NULL || fseeko(archive->file, (off_t)offset, SEEK_SET) != 0
        || fread(directory, 1, *size, archive->file) != *size) {
        damaged(archive, "its directory cannot be read");
        free(directory);
        directory = NULL;
    }
done:
    free(tail);
    return directory;
}

static int read_entry(part *archive, const unsigned char *at, size_t name_length, size_t further,
                      uint64_t total, po_place *place, void *context)
{
    const char *name = (const char *)at + 46;
    size_t length = name_length;
    if (length > 4 && memcmp(name + length - 4, ".npy", 4) == 0)
        length -= 4;
    po_array *array = place(context, name, length);
    if (array == NULL)
        return 1;
    char shown[256];
    size_t most = length < sizeof shown ? length : sizeof shown - 1;
    memcpy(shown, name, most);
    shown[most] = 0;
    archive->name = shown;
    member entry = { .flags = (unsigned)little(at + 8, 2), .method = (unsigned)little(at + 10, 2),
                     .crc = (uint32_t)little(at + 16, 4), .stored = little(at + 20, 4),
                     .size = little(at + 24, 4), .offset = little(at + 42, 4) };
    int good = 0;
    if (array->data != NULL)
        damaged(archive, "it is given twice");
    else if (!widen(at + 46 + name_length, further, &entry))
        damaged(archive, "its sizes cannot be read");
    else
        good = read_member(archive, &entry, total, array);
    archive->name = NULL;
    return good;
}

int po_read_npz(const char *path, po_place *place, void *context)
{
    uint64_t total;
    part archive = { .path = path };
    archive.file = open_file(path, &total);
    if (archive.file == NULL)
        return 0;
    size_t size = 0, at = 0;
    int count = 0;
    unsigned char *directory = directory_of(&archive, total, &size, &count);
    int good = directory != NULL;
    for (int k = 0; good && k < count; k++) {
        size_t left = size - at;
        if (left < 46 || memcmp(directory + at, "PK\1\2", 4) != 0) {
            good = damaged(&archive, "its directory is damaged");
            break;
        }
        size_t name = (size_t)little(directory + at + 28, 2);
        size_t further = (size_t)little(directory + at + 30, 2);
        size_t comment = (size_t)little(directory + at + 32, 2);
        if (name + further + comment > left - 46) {
            good = damaged(&archive, "its directory is damaged");
            break;
        }
        good = read_entry(&archive, directory + at, name, further, total, place, context);
        at += 46 + name + further + comment;
    }
    free(directory);
    fclose(archive.file);
    return good;
}

/* --- writing ----------------------------------------------------------------------------------- */

int po_write_npy(const char *path, const po_array *array)
{
    enum { ROOM = 128 + PO_RANKS * 22 };
    char text[ROOM], header[ROOM + 74] = "\x93NUMPY\1";
    char order = array->code[0] == 'V' || array->code[1] == '1' ? '|' : '<';
    if (strcmp(array->code, "c16") == 0)
        order = '<';
    int length = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                          order, array->code);
    for (int d = 0; d < array->rank; d++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%lld%s", d ? " " : "",
                           (long long)array->shape[d],
                           array->rank == 1 || d + 1 < array->rank ? "," : "");
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    size_t whole = ((size_t)length + 11 + 63) / 64 * 64, rest = whole - 10;
    header[8] = (char)(rest & 255);
    header[9] = (char)(rest >> 8);
    memset(header + 10, ' ', rest);
    memcpy(header + 10, text, (size_t)length);
    header[whole - 1] = '\n';
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return po_error("%s cannot be written: %s", po_quoted(path), strerror(errno));
    int good = fwrite(header, 1, whole, file) == whole
               && fwrite(array->data, 1, array->bytes, file) == array->bytes;
    good = fclose(file) == 0 && good;
    return good || po_error("%s cannot be written: %s", po_quoted(path), strerror(errno));
}
