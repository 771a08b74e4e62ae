package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/vegadb/vega-flight/ivm/ddl"
)

// prompt is a conversation on a terminal: statements end with a semicolon, and an error does not end it.
type prompt struct {
	conn       *connection
	in         *os.File
	errOut     io.Writer
	newPrinter func(ddl.Item) printer
	bar        *progressBar
	lines      chan string
}

// converse runs statements until the input ends, or Ctrl-C comes where nothing was typed.
func (p *prompt) converse(ctx context.Context) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	go p.read() // a read of a terminal cannot be called off: it ends with the input or the process
	fmt.Fprintln(p.errOut, "Statements end with a semicolon. Ctrl-C cancels, Ctrl-D ends, help helps.")
	var text strings.Builder
	for {
		if text.Len() == 0 {
			fmt.Fprint(p.errOut, "vega> ")
		} else {
			fmt.Fprint(p.errOut, "  ... ")
		}
		select {
		case <-interrupts:
			fmt.Fprintln(p.errOut)
			if text.Len() == 0 {
				return
			}
			text.Reset()
		case line, ok := <-p.lines:
			if !ok {
				fmt.Fprintln(p.errOut)
				p.answer(ctx, text.String())
				return
			}
			if text.Len() == 0 {
				known, ends := p.command(line)
				if ends {
					return
				}
				if known {
					continue
				}
			}
			if text.Len() > 0 || strings.TrimSpace(line) != "" {
				text.WriteString(line + "\n")
			}
			if strings.HasSuffix(strings.TrimSpace(line), ";") {
				p.answer(ctx, text.String())
				text.Reset()
			}
			select {
			case <-interrupts: // it was for the statement
			default:
			}
		}
	}
}

// command is what is typed in place of a statement.
func (p *prompt) command(line string) (known, ends bool) {
	switch strings.ToLower(strings.TrimSuffix(strings.TrimSpace(line), ";")) {
	case "exit", "quit", `\q`:
		return true, true
	case "help", "?", `\?`, `\h`:
		fmt.Fprint(p.errOut, `SHOW TABLES;                               tables and views
SHOW MATERIALIZED VIEWS;                   and SHOW STREAMING MATERIALIZED VIEWS;
SHOW JOBS;                                 what runs and what ran
EXPLAIN STREAMING SELECT …;                whether a query can be a streaming view
SUBSCRIBE TO view;                         a view's rows and changes, until Ctrl-C
exit, quit, \q                             end
`)
		return true, false
	}
	return false, false
}

func (p *prompt) read() {
	defer close(p.lines)
	for s := bufio.NewScanner(p.in); s.Scan(); {
		p.lines <- s.Text()
	}
}

// answer runs the statements of a text up to the first that fails.
func (p *prompt) answer(ctx context.Context, text string) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	items, err := ddl.Parse(text)
	for i := 0; err == nil && i < len(items); i++ {
		err = p.conn.run(ctx, items[i].Text, p.newPrinter(items[i]), p.bar)
	}
	if err != nil {
		fmt.Fprintln(p.errOut, err)
	}
}
