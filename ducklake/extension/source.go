package extension

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// maxExtension bounds what is unpacked: extensions are about 40 MB.
const maxExtension = 512 << 20

// PyPI fetches the wheel that holds the extension with pip, which knows the
// user's index, proxies and mirrors. Nothing of the wheel is run.
func PyPI(ctx context.Context, name, dir string) (string, error) {
	python := "python3"
	if p := os.Getenv("VEGA_PYTHON_FOR_PIP"); p != "" {
		python = p
	}
	wheel := "duckdb-extension-" + strings.ReplaceAll(name, "_", "-") + "==" + DuckDBVersion
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary", ":all:", "--dest", dir, wheel)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("PyPI: pip download %s: %w: %s", wheel, err, strings.TrimSpace(string(out)))
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("PyPI: pip brought %d wheels, expected one", len(wheels))
	}
	return unpackWheel(wheels[0], name, dir)
}

func unpackWheel(wheel, name, dir string) (string, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return "", fmt.Errorf("PyPI: %w", err)
	}
	defer z.Close()
	for _, f := range z.File {
		if filepath.Base(f.Name) != name+".duckdb_extension" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return "", err
		}
		defer r.Close()
		return save(r, filepath.Join(dir, name+".duckdb_extension"))
	}
	return "", fmt.Errorf("PyPI: the wheel holds no %s.duckdb_extension", name)
}

// repositoryURL is DuckDB's own extension repository. Files are checked
// against pinned sums, so plain HTTP would do; HTTPS is used all the same.
const repositoryURL = "https://extensions.duckdb.org"

// Repository fetches the extension from DuckDB's repository.
func Repository(ctx context.Context, name, dir string) (string, error) {
	url := fmt.Sprintf("%s/v%s/%s/%s.duckdb_extension.gz", repositoryURL, DuckDBVersion, Platform(), name)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("DuckDB's repository: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("DuckDB's repository: %s: %s", url, resp.Status)
	}
	gz, err := gzip.NewReader(resp.Body)
	if err != nil {
		return "", fmt.Errorf("DuckDB's repository: %w", err)
	}
	return save(gz, filepath.Join(dir, name+".duckdb_extension"))
}

func save(r io.Reader, path string) (string, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(f, io.LimitReader(r, maxExtension+1))
	if err == nil && n > maxExtension {
		err = fmt.Errorf("the file is larger than %d bytes", int64(maxExtension))
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return path, err
}
