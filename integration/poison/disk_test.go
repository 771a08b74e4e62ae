package poison

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// disk is a small file system of its own, which lives until the test ends.
type disk struct {
	dir  string   // where processes inside find it
	host string   // where this process does
	wrap []string // puts a command inside
}

func newDisk(t *testing.T) disk {
	t.Helper()
	d := disk{dir: t.TempDir()}
	flags := []string{"-m"}
	if os.Geteuid() != 0 {
		flags = []string{"-U", "-r", "-m"}
	}
	holder := exec.Command("unshare", append(flags, "sh", "-c", `mount -t tmpfs -o size=64m tmpfs "$0" && echo mounted && exec cat`, d.dir)...)
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
	d.wrap = []string{"nsenter", "-t", pid, "-m"}
	if os.Geteuid() != 0 {
		d.wrap = append(d.wrap, "-U", "--preserve-credentials")
	}
	d.host = filepath.Join("/proc", pid, "root", d.dir)
	return d
}

// fill takes all the room that is left, until the file is removed.
func (d disk) fill(t *testing.T, but int) (file string) {
	t.Helper()
	spare := filepath.Join(d.host, "spare")
	if err := os.WriteFile(spare, make([]byte, but), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(spare)
	file = filepath.Join(d.host, "filling")
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

func TestAPoisonedInstanceEndsTheProcess(t *testing.T) {
	d := newDisk(t)
	options := process.Options{Lake: filepath.Join(d.dir, "lake"), Wrap: d.wrap, Args: []string{"--maintenance-interval", "0"}}
	s := process.Start(t, options)
	s.Expect()
	c := s.Connect(t)
	const query = "SELECT k, count(*) AS n, sum(i) AS s FROM src GROUP BY k"
	for _, sql := range []string{
		"CREATE TABLE big (text VARCHAR)", "CREATE TABLE src (k BIGINT, i BIGINT)", "INSERT INTO src SELECT i % 10, i FROM range(10000) r(i)",
		"CREATE MATERIALIZED VIEW v AS " + query, "CREATE MATERIALIZED VIEW w AS SELECT max(n) AS n FROM v",
	} {
		c.Must(t, sql)
	}
	// Room for the log of the catalog to grow until it is checkpointed, and not for the checkpoint.
	filling := d.fill(t, 24<<20)
	acked := 0
	for {
		if _, err := c.Query(t.Context(), "INSERT INTO big SELECT repeat(md5(random()::VARCHAR), 300) FROM range(10)"); err != nil {
			break
		}
		acked++
	}
	<-s.Done()
	if err := s.Ended(); err == nil || !strings.Contains(err.Error(), "exit status") {
		t.Errorf("the process ended with: %v", err)
	}
	if n := strings.Count(s.Log(), "DuckDB's instance is unusable"); n != 1 {
		t.Errorf("the log has %d lines of why:\n%s", n, s.Log())
	}

	if err := os.Remove(filling); err != nil {
		t.Fatal(err)
	}
	s = process.Start(t, options)
	c = s.Connect(t)
	if n := c.Value(t, "SELECT count(*) FROM big"); n != fmt.Sprint(10*acked) && n != fmt.Sprint(10*acked+10) { // the last answer was lost
		t.Errorf("%s rows, and %d were acknowledged", n, 10*acked)
	}
	if n := c.Value(t, "SELECT count(*) FROM ((FROM v EXCEPT ALL ("+query+")) UNION ALL (("+query+") EXCEPT ALL FROM v))"); n != "0" {
		t.Errorf("view v differs from its query in %s rows", n)
	}
	if n := c.Value(t, "SELECT n FROM w"); n != "1000" {
		t.Errorf("view w has %s", n)
	}
	c.Must(t, "INSERT INTO src VALUES (77, 1)")
	c.Must(t, "REFRESH MATERIALIZED VIEW v")
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
