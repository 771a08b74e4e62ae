package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Disk is a small file system of its own, which lives until the test ends.
type Disk struct {
	Dir  string   // where processes inside find it
	Host string   // where this process does
	Wrap []string // puts a command inside
}

// NewDisk makes one of so many MiB; the test is skipped where that cannot be.
func NewDisk(t testing.TB, mib int) Disk {
	t.Helper()
	d := Disk{Dir: t.TempDir()}
	flags := []string{"-m"}
	if os.Geteuid() != 0 {
		flags = []string{"-U", "-r", "-m"}
	}
	mount := fmt.Sprintf(`mount -t tmpfs -o size=%dm tmpfs "$0" && echo mounted && exec cat`, mib)
	holder := exec.Command("unshare", append(flags, "sh", "-c", mount, d.Dir)...)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Skipf("no file system can be made here: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends cat
		_ = holder.Wait()
	})
	said := make([]byte, len("mounted\n"))
	if _, err := io.ReadFull(out, said); err != nil {
		t.Skipf("no file system can be made here: %v", err)
	}
	pid := fmt.Sprint(holder.Process.Pid)
	d.Wrap = []string{"nsenter", "-t", pid, "-m"}
	if os.Geteuid() != 0 {
		d.Wrap = append(d.Wrap, "-U", "--preserve-credentials")
	}
	d.Host = filepath.Join("/proc", pid, "root", d.Dir)
	return d
}

// Fill takes all the room that is left but so many bytes, until the file is removed.
func (d Disk) Fill(t testing.TB, but int) (file string) {
	t.Helper()
	spare := filepath.Join(d.Host, "spare")
	if err := os.WriteFile(spare, make([]byte, but), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(spare) // the room that is to be left
	file = filepath.Join(d.Host, "filling")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4096} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		err = nil
	}
	return file
}
