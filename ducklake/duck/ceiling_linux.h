// What ceiling_linux.cc offers to Go.
#ifdef __cplusplus
extern "C" {
#endif

// vega_ceiling_set bounds the process's resident memory; 0 takes the bound away.
void vega_ceiling_set(unsigned long long bytes);
// vega_ceiling_refused is how many allocations were refused so far.
unsigned long long vega_ceiling_refused(void);
// vega_resident is the process's resident memory; 0 when the system does not tell.
unsigned long long vega_resident(void);
// vega_purge gives memory that DuckDB has freed back to the system.
void vega_purge(void);
// vega_trim gives memory that operator delete got back to the system.
void vega_trim(void);

#ifdef __cplusplus
}
#endif
