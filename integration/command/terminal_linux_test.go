package command

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vegadb/vega-flight/integration/process"
)

// patience is how long a process on a terminal may last.
const patience = 5 * time.Minute

// terminal runs the binary on a terminal of its own.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	seen   strings.Builder
}

func open(t *testing.T, args ...string) *terminal { return openWide(t, 0, args...) }

// openWide opens a terminal of a width; 0 is one that does not tell.
func openWide(t *testing.T, columns uint16, args ...string) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err) // a container may have none
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { _ = master.Close() }) // may be closed already
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.Command(process.Binary(t), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // the test then fails with what was shown
	t.Cleanup(func() { end.Stop() })
	return &terminal{t: t, master: master, cmd: cmd}
}

// until reads what is shown until it matches; false says that the process has ended before.
func (x *terminal) until(pattern string) bool {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	buf := make([]byte, 4096)
	for !re.MatchString(x.seen.String()) {
		n, err := x.master.Read(buf)
		x.seen.Write(buf[:n])
		if err != nil { // EIO: nobody has the other end any more
			return re.MatchString(x.seen.String())
		}
	}
	return true
}

// typed sends what somebody types.
func (x *terminal) typed(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.master, text); err != nil {
		x.t.Fatal(err)
	}
}

// end reads the rest and returns all that was shown, and the exit code.
func (x *terminal) end() (string, int) {
	x.t.Helper()
	x.until("\x00never")
	_ = x.cmd.Wait() // the exit code tells
	return x.seen.String(), x.cmd.ProcessState.ExitCode()
}

const endless = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9"

func TestProgressIsDrawnOnATerminalOnly(t *testing.T) {
	s := start(t)
	const sql = "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM range(40000) a(i), range(40000) b(j) WHERE (i * j) % 7 = 1; SELECT 'done' AS word"
	shown, code := open(t, "sql", s.Flight, "-c", sql).end()
	if code != 0 || !regexp.MustCompile(`\r\x1b\[K\[[#.]{30}\] +\d+ % running: \w+`).MatchString(shown) {
		t.Errorf("exit code %d, no bar in %q", code, shown)
	}
	// The bar is gone before rows are printed.
	if !strings.Contains(shown, "\r\x1b[Kstatus") || !strings.Contains(shown, "done\r\n(1 row)") {
		t.Errorf("the results are not there: %q", shown)
	}
	if got := run(t, nil, "sql", s.Flight, "-c", sql); got.code != 0 || got.err != "" || strings.Contains(got.out, "\x1b") {
		t.Errorf("in a pipe: %+v", got)
	}
}

// bars are the progress of a statement that took a while, drawn again and again and taken away.
var bars = regexp.MustCompile(`(\r\x1b\[K\[[^\r\n]*)+\r\x1b\[K`)

// Rows that are too wide are still readable.
func TestRowsFitTheTerminal(t *testing.T) {
	s := start(t)
	const sql = "CREATE TABLE t (i INTEGER); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t; SHOW MATERIALIZED VIEWS; SELECT 1 AS a, 2 AS b"
	shown, code := openWide(t, 80, "sql", s.Flight, "-c", sql).end()
	shown = bars.ReplaceAllString(shown, "")
	if code != 0 || !regexp.MustCompile(`schema_name: +main\r\nview_name: +v\r\n`).MatchString(shown) || !strings.Contains(shown, "(1 row)\r\na  b\r\n-  -\r\n1  2\r\n") {
		t.Errorf("exit code %d, %q", code, shown)
	}
	for _, line := range strings.Split(shown, "\r\n") {
		if len(line) > 80 && !strings.HasPrefix(line, "query:") {
			t.Errorf("a line of %d columns: %q", len(line), line)
		}
	}
	if wide := run(t, nil, "sql", s.Flight, "-c", "SHOW MATERIALIZED VIEWS"); !strings.HasPrefix(wide.out, "schema_name  view_name") {
		t.Errorf("in a pipe: %+v", wide)
	}
}

func TestCtrlCCancelsOnTheServer(t *testing.T) {
	s := start(t)
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE target (n BIGINT)")
	for _, sql := range []string{
		"CREATE MATERIALIZED VIEW slow AS " + endless, "INSERT INTO target " + endless, endless,
	} {
		x := open(t, "sql", s.Flight, "-c", sql+"; CREATE TABLE never (i INTEGER)")
		if !x.until("running") {
			t.Fatalf("%s: %q", sql, x.seen.String())
		}
		x.typed("\x03")
		if shown, code := x.end(); code != 1 || !strings.Contains(shown, "vega-flight: CANCELLED: ") {
			t.Errorf("%s: exit code %d, %q", sql, code, shown)
		}
	}
	if got := c.Must(t, "SELECT state FROM vega.jobs"); len(got) != 1 || got[0][0] != "CANCELLED" {
		t.Errorf("the jobs are %v", got)
	}
	if n := c.Value(t, "SELECT count(*) FROM target"); n != "0" {
		t.Errorf("the cancelled INSERT left %s rows", n)
	}
	if n := c.Value(t, "SELECT count(*) FROM information_schema.tables WHERE table_name = 'never'"); n != "0" {
		t.Error("the statement after the cancelled one was run")
	}
}

func TestAConversationOnATerminal(t *testing.T) {
	s := start(t)
	x := open(t, "sql", s.Flight)
	for _, step := range []struct{ typed, shown string }{
		{"", `vega> $`},
		{"SELECT 6 *\n", `  \.\.\. $`},
		{"7 AS answer;\n", `answer\r\n-+\r\n +42\r\n\(1 row\)\r\nvega> $`},
		{"SELEC 1;\n", `SYNTAX_ERROR: no statement begins with SELEC[^>]*did you mean SELECT\?\r\nvega> $`}, // an error does not end it
		{"SELECT 'half\n", `  \.\.\. $`},
		{"\x03", `\r\nvega> $`},
		{endless + ";\n", `running`},
		{"\x03", `CANCELLED: the statement was cancelled\r\nvega> $`}, // the statement alone
		{"SELECT 'last' AS word\n", `  \.\.\. $`},
	} {
		x.typed(step.typed)
		if !x.until(step.shown) {
			t.Fatalf("after %q: %q", step.typed, x.seen.String())
		}
		x.seen.Reset()
	}
	x.typed("\x04")
	if shown, code := x.end(); code != 0 || !strings.Contains(shown, "last\r\n(1 row)") {
		t.Errorf("exit code %d, %q", code, shown)
	}
	x = open(t, "sql", s.Flight)
	x.until(`vega> $`)
	x.typed("\x03")
	if shown, code := x.end(); code != 0 {
		t.Errorf("Ctrl-C with nothing typed: exit code %d, %q", code, shown)
	}
}

// A subscription's rows are shown while it goes on, until Ctrl-C.
func TestChangesAreShownAsTheyCome(t *testing.T) {
	s := start(t)
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE orders (store INTEGER, city VARCHAR)")
	c.Must(t, "INSERT INTO orders VALUES (1, 'Oslo')")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW live WITH (wait_for_ready = true) AS SELECT city, count(*) AS n FROM orders GROUP BY city")
	for _, format := range []string{"table", "vertical", "csv", "json"} {
		x := open(t, "sql", s.Flight, "-o", format, "-c", "SUBSCRIBE TO live")
		if !x.until("Oslo") {
			t.Fatalf("%s, the content: %q", format, x.seen.String())
		}
		c.Must(t, "INSERT INTO orders VALUES (2, 'Rome by "+format+"')")
		if !x.until("Rome by " + format) {
			t.Fatalf("%s, a change: %q", format, x.seen.String())
		}
		x.typed("\x03")
		if shown, code := x.end(); code != 1 {
			t.Errorf("%s: exit code %d, %q", format, code, shown)
		}
	}
}

func TestThePromptHelpsAndEnds(t *testing.T) {
	s := start(t)
	for _, words := range [][2]string{{"help", "exit"}, {`\?`, "quit;"}, {"HELP;", `\q`}} {
		x := open(t, "sql", s.Flight)
		if !x.until("vega> ") {
			t.Fatal(x.seen.String())
		}
		x.typed(words[0] + "\n")
		if !x.until(`SUBSCRIBE TO view;[^>]*vega> `) {
			t.Fatal(x.seen.String())
		}
		x.typed(words[1] + "\n")
		if shown, code := x.end(); code != 0 {
			t.Errorf("%s: exit code %d, %q", words, code, shown)
		}
	}
}
