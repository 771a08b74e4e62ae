package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // schedules name time zones, also on machines without a zone database

	"github.com/spf13/cobra"

	"github.com/vegadb/vega-flight/plugin"
)

// errUsage marks a wrong command line: exit code 2.
var errUsage = errors.New("wrong usage")

func main() { os.Exit(run(os.Args[1:])) }

// wants makes a wrong number of arguments a wrong command line.
func wants(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		return nil
	}
}

// errReported marks an error that the log has already.
var errReported = errors.New("the server has ended")

// oneLine is an error whose text has one line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

// run executes one command line and returns the exit code.
func run(args []string) int {
	bearFileLimit()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "vega-flight",
		Short:         "A DuckLake behind Arrow Flight SQL, with materialized views that stay right",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			if line := misspelt(os.Environ()); line != "" && cmd.Name() != "serve" && cmd.Name() != "plugin" { // which have a log
				fmt.Fprintln(cmd.ErrOrStderr(), "vega-flight: warning:", line)
			}
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	root.AddCommand(serveCommand(stop), sqlCommand(stop), pluginCommand(stop), checkCommand(), extensionsCommand(), usersCommand(), versionCommand())
	root.Version = about()
	root.SetVersionTemplate("{{.Version}}\n")
	if len(args) == 0 && plugin.IsLaunched() {
		args = []string{"plugin"}
	}
	root.SetArgs(args)
	if _, _, err := root.Find(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return 1
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		return 2
	default:
		fmt.Fprintln(os.Stderr, "vega-flight:", err)
		return 1
	}
}
