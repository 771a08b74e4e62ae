package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker; `make build` takes it from git.
var version = "dev"

// revision is the commit the binary was built from, "" if the build does not know it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// about is the line that says what this binary is.
func about() string {
	what := version
	if r := revision(); r != "" && version == "dev" {
		what += " (" + r + ")"
	}
	return fmt.Sprintf("vega-flight %s, DuckDB 1.5.5, DuckLake format 1.0", what)
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), about())
			return err
		},
	}
}
