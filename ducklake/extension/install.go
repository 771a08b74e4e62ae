package extension

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/vegadb/vega-flight/fault"
)

// Source is where an extension's file comes from: it fetches the file of a
// name into an empty folder and returns its path.
type Source func(ctx context.Context, name, dir string) (file string, err error)

// Options say what Install does.
type Options struct {
	Dir     string   // "" is DefaultDir
	Names   []string // nil is all that a lake can need
	Sources []Source // tried in turn; nil is PyPI, then DuckDB's repository
	Force   bool     // fetch again what is there already
}

// Installed is one extension that is in place.
type Installed struct {
	Name, Path string
	Fetched    bool // false: it was there already
}

// Install puts extensions into the folder. A file that has not its pinned
// checksum is never put there: fault.ExtensionInvalid. When no source has it:
// fault.ExtensionMissing with every source's reason.
func Install(ctx context.Context, o Options) ([]Installed, error) {
	if o.Dir == "" {
		o.Dir = DefaultDir()
	}
	if o.Names == nil {
		o.Names = []string{DuckLake, Postgres}
	}
	if o.Sources == nil {
		o.Sources = []Source{PyPI, Repository}
	}
	var done []Installed
	for _, name := range o.Names {
		i, err := installOne(ctx, o, name)
		if err != nil {
			return done, err
		}
		done = append(done, i)
	}
	return done, nil
}

func installOne(ctx context.Context, o Options, name string) (Installed, error) {
	want, ok := checksums[Platform()][name]
	if !ok {
		return Installed{}, fault.ExtensionMissing.Newf("there is no extension %q for %s that this server knows", name, Platform())
	}
	to := Path(o.Dir, name)
	if !o.Force {
		if sum, err := sumOf(to); err == nil && sum == want {
			return Installed{Name: name, Path: to}, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return Installed{}, fault.ExtensionMissing.Wrap(err, "the extension folder cannot be made")
	}
	var reasons []error
	for _, source := range o.Sources {
		err := fetch(ctx, source, name, want, to)
		if err == nil {
			return Installed{Name: name, Path: to, Fetched: true}, nil
		}
		if fault.CodeOf(err) == fault.ExtensionInvalid || ctx.Err() != nil {
			return Installed{}, err
		}
		reasons = append(reasons, err)
	}
	return Installed{}, fault.ExtensionMissing.Wrap(errors.Join(reasons...), "extension %s of DuckDB %s cannot be fetched", name, DuckDBVersion).
		WithHint("copy the folder %s from a machine that has it", filepath.Dir(to))
}

// fetch brings one file from a source into its place, checked and whole.
func fetch(ctx context.Context, source Source, name, want, to string) error {
	work, err := os.MkdirTemp(filepath.Dir(to), ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	file, err := source(ctx, name, work)
	if err != nil {
		return err
	}
	sum, err := sumOf(file)
	if err != nil {
		return err
	}
	if sum != want {
		return fault.ExtensionInvalid.Newf("extension %s has the checksum %s, not the pinned %s", name, sum, want).
			WithHint("do not use the file; fetch it from another place")
	}
	return os.Rename(file, to)
}

func sumOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
