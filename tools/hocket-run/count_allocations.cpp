//===- count_allocations.cpp - malloc and its kin, counted ------------------===//
//
// Replaces the allocator's entry points of the whole process, libraries
// included, by ones that count while a step runs (runtime/device/allocations.h)
// and call glibc's own.  operator new of libstdc++ comes through malloc.  Left
// out under sanitizers, which replace them too.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/allocations.h"

#include <cerrno>
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HOCKET_SANITIZED 1
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                 \
    !defined(HOCKET_SANITIZED)
#define HOCKET_COUNTS 1
#endif

namespace hocket::run {
/// Whether this build counts.
extern const bool kCountsAllocations;
#ifdef HOCKET_COUNTS
const bool kCountsAllocations = true;
#else
const bool kCountsAllocations = false;
#endif
} // namespace hocket::run

#ifdef HOCKET_COUNTS

using hocket::device::allocations::count;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}
void *realloc(void *old, size_t bytes) {
  count();
  return __libc_realloc(old, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  count();
  if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || alignment == 0)
    return EINVAL;
  void *p = __libc_memalign(alignment, bytes);
  if (!p)
    return ENOMEM;
  *out = p;
  return 0;
}
}

#endif
