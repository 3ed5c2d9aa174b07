#define _GNU_SOURCE
#include "CMemory.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void waypost_release_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static int release_segments(struct dl_phdr_info *object, size_t size, void *page_size) {
    (void)size;
    const uintptr_t page = *(const uintptr_t *)page_size;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        // What can be written may have been: with this it would be as in the file again, without its relocations.
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        const uintptr_t first = (start + page - 1) & ~(page - 1);
        const uintptr_t end = (start + segment->p_filesz) & ~(page - 1);
        if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
    }
    return 0;
}

void waypost_release_program(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(release_segments, &page);
}
