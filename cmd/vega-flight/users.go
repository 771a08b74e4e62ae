package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/vegadb/vega-flight/flightsql/auth"
)

// usersCommand makes the secrets that a users file holds; it never reads or writes the file itself.
func usersCommand() *cobra.Command {
	root := &cobra.Command{Use: "users", Short: "Make password hashes and API keys for the users file"}
	root.AddCommand(&cobra.Command{
		Use:   "hash",
		Short: "Read a password and print its argon2id hash for the users file",
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			password, err := readPassword(cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			hash, err := auth.HashPassword(password)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), hash)
			return err
		},
	}, &cobra.Command{
		Use:   "key",
		Short: "Make an API key; print it, and its hash for the users file",
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, hash := auth.NewAPIKey()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "key:  %s\nhash: %s\n", key, hash)
			return err
		},
	})
	return root
}

// readPassword asks twice on a terminal and reads one line elsewhere.
func readPassword(in io.Reader, errOut io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		var texts [2]string
		for i, prompt := range []string{"Password: ", "Again: "} {
			fmt.Fprint(errOut, prompt)
			text, err := term.ReadPassword(int(f.Fd()))
			fmt.Fprintln(errOut)
			if err != nil {
				return "", err
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			return "", errors.New("the two passwords differ")
		}
		return texts[0], nil
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("the password is empty")
	}
	return line, nil
}
