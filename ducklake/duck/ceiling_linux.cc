// DuckDB counts buffers against its memory limit, and not what functions and aggregates allocate for their values. It has
// these from its own jemalloc and from operator new. Both ask here before they take large pieces from the system, and are
// refused above the ceiling: DuckDB then fails the statement with an "Out of Memory" error, which it survives. Nothing of
// Go's own memory passes here, because the Go runtime does not survive a refusal.
#include "ceiling_linux.h"

#include <fcntl.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

namespace {

// Smaller pieces are not asked about: jemalloc takes larger and larger ones when a statement goes on growing.
constexpr size_t asked = 1 << 20;

// A new piece is resident only when it has been written to. Until then it counts as promised: what the process grows by keeps
// promises, what is freed takes them back, and half of what is left is forgotten after halfLife nanoseconds.
constexpr double halfLife = 5e9;

std::atomic<unsigned long long> ceiling{0};
std::atomic<unsigned long long> refused{0};
std::mutex mu; // guards what follows; nothing is allocated under it
double promised = 0, lastResident = 0, lastTime = 0;

double now() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

bool admit(size_t size) {
	unsigned long long limit = ceiling.load(std::memory_order_relaxed);
	if (limit == 0 || size < asked) {
		return true;
	}
	std::lock_guard<std::mutex> guard(mu);
	double at = now(), resident = double(vega_resident());
	promised *= exp2((lastTime - at) / halfLife);
	promised = std::max(0.0, promised - std::max(0.0, resident - lastResident));
	lastTime = at;
	lastResident = resident;
	if (resident + promised + double(size) > double(limit)) {
		refused.fetch_add(1, std::memory_order_relaxed);
		return false;
	}
	promised += double(size);
	return true;
}

// give frees what operator new gave.
void give(void *p) {
	if (p == nullptr) {
		return;
	}
	size_t size = malloc_usable_size(p);
	free(p);
	if (size >= asked && ceiling.load(std::memory_order_relaxed) != 0) {
		std::lock_guard<std::mutex> guard(mu);
		promised = std::max(0.0, promised - double(size));
		lastResident = std::max(0.0, lastResident - double(size));
	}
}

} // namespace

extern "C" {

void vega_ceiling_set(unsigned long long bytes) { ceiling.store(bytes); }

unsigned long long vega_ceiling_refused(void) { return refused.load(); }

unsigned long long vega_resident(void) {
	static const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	static const unsigned long long page = (unsigned long long)sysconf(_SC_PAGESIZE);
	char text[128];
	ssize_t n = pread(file, text, sizeof text - 1, 0);
	if (n <= 0) {
		return 0;
	}
	text[n] = 0;
	unsigned long long total = 0, resident = 0;
	if (sscanf(text, "%llu %llu", &total, &resident) != 2) {
		return 0;
	}
	return resident * page;
}

// The linker puts __wrap_… into the place of jemalloc's own function (see the flags in ceiling_linux.go). Weak, for builds
// in which DuckDB comes without jemalloc.
void *__real_duckdb_je_pages_map(void *addr, size_t size, size_t alignment, bool *commit) __attribute__((weak));
int duckdb_je_mallctl(const char *name, void *old, size_t *oldlen, void *value, size_t len) __attribute__((weak));

void *__wrap_duckdb_je_pages_map(void *addr, size_t size, size_t alignment, bool *commit) {
	return admit(size) ? __real_duckdb_je_pages_map(addr, size, alignment, commit) : nullptr;
}

// What is refused there, jemalloc takes from the end of the data segment instead.
void *__real_duckdb_je_extent_alloc_dss(void *tsdn, void *arena, void *addr, size_t size, size_t alignment, bool *zero, bool *commit)
    __attribute__((weak));

void *__wrap_duckdb_je_extent_alloc_dss(void *tsdn, void *arena, void *addr, size_t size, size_t alignment, bool *zero, bool *commit) {
	return admit(size) ? __real_duckdb_je_extent_alloc_dss(tsdn, arena, addr, size, alignment, zero, commit) : nullptr;
}

void vega_purge(void) {
	if (duckdb_je_mallctl != nullptr) {
		duckdb_je_mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0); // 4096: all arenas
	}
}

void vega_trim(void) { malloc_trim(0); }

} // extern "C"

void *operator new(size_t size) {
	if (admit(size)) {
		if (void *p = malloc(size ? size : 1)) {
			return p;
		}
	}
	throw std::bad_alloc();
}

void operator delete(void *p) noexcept { give(p); }
void operator delete(void *p, size_t) noexcept { give(p); }
