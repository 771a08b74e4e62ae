package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vegadb/vega-flight/ducklake/extension"
)

func extensionsCommand() *cobra.Command {
	root := &cobra.Command{Use: "extensions", Short: "Fetch and look at the DuckDB extensions that a lake needs"}
	o := extension.Options{}
	var source string
	install := &cobra.Command{
		Use:   "install",
		Short: "Fetch the extensions from PyPI or DuckDB's repository and check their pinned checksums",
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch source {
			case "":
			case "pypi":
				o.Sources = []extension.Source{extension.PyPI}
			case "duckdb":
				o.Sources = []extension.Source{extension.Repository}
			default:
				return fmt.Errorf("%w: --source is pypi or duckdb, not %q", errUsage, source)
			}
			done, err := extension.Install(cmd.Context(), o)
			for _, i := range done {
				state := "was there"
				if i.Fetched {
					state = "installed"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s\n", i.Name, state, i.Path)
			}
			return err
		},
	}
	install.Flags().StringVar(&o.Dir, "dir", extension.DefaultDir(), "folder to install into; give the server the same with --extension-dir")
	install.Flags().StringVar(&source, "source", "", "pypi or duckdb (default: PyPI, then DuckDB's repository)")
	install.Flags().BoolVar(&o.Force, "force", false, "fetch again what is there already")
	root.AddCommand(install)
	return root
}
