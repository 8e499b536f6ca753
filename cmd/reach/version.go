package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what this binary says of itself.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (b build) String() string { return fmt.Sprintf("reach %s (%s, %s)", b.Version, b.Go, b.Platform) }

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  reach version -o json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			a.show(b, func(w io.Writer) { _, _ = fmt.Fprintln(w, b) })
			return nil
		},
	}
}

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			b.Commit = setting.Value
		}
	}
	return b
}
