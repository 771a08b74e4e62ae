package metadata

import "strings"

// scanner is what DuckDB's PostgreSQL scanner is to do that it does not do by itself: give up a connection that cannot be made, or whose other
// end has gone without a word.
var scanner = []string{"connect_timeout=10", "tcp_user_timeout=30000", "keepalives_idle=30", "keepalives_interval=10", "keepalives_count=3"}

// ScannerAddress is a PostgreSQL server's address, a URI or keywords, as DuckDB's scanner is to have it. What it says itself stays.
func ScannerAddress(dsn string) string {
	separator := " "
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		separator = "&"
		if !strings.Contains(dsn, "?") {
			dsn, separator = dsn+"?", ""
		}
	}
	for _, s := range scanner {
		if name, _, _ := strings.Cut(s, "="); !strings.Contains(dsn, name) {
			dsn += separator + s
			if separator == "" {
				separator = "&"
			}
		}
	}
	return dsn
}
