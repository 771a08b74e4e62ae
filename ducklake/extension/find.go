package extension

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/vegadb/vega-flight/fault"
)

// DuckDBVersion is the version the extensions are for.
const DuckDBVersion = "1.5.5"

// DirEnv is the environment variable that overrides the default folder.
const DirEnv = "VEGA_EXTENSION_DIR"

// Names of the extensions.
const (
	DuckLake = "ducklake"
	Postgres = "postgres_scanner"
)

// DefaultDir is where extensions are when nobody says otherwise: $VEGA_EXTENSION_DIR, else in the user's cache folder.
func DefaultDir() string {
	if dir := os.Getenv(DirEnv); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "vega-flight", "extensions")
}

// Platform is DuckDB's name for the machine this program was built for.
func Platform() string {
	system := runtime.GOOS
	if system == "darwin" {
		system = "osx"
	}
	return system + "_" + runtime.GOARCH
}

// Path is where an extension of that name is, or would be, in dir.
func Path(dir, name string) string {
	return filepath.Join(dir, "v"+DuckDBVersion, Platform(), name+".duckdb_extension")
}

// Find returns the absolute path of an installed extension. dir "" is DefaultDir.
func Find(dir, name string) (string, error) {
	if dir == "" {
		dir = DefaultDir()
	}
	path, err := filepath.Abs(Path(dir, name))
	if err != nil {
		return "", fault.ExtensionMissing.Wrap(err, "the extension folder %s", dir)
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", fault.ExtensionMissing.Newf("DuckDB's extension %s is not in %s", name, path).
			WithHint("run: vega-flight extensions install --dir %s", dir)
	}
	return path, nil
}
