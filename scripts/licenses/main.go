// Licenses collects, for the programs named as packages, the licences and notices of everything that is linked into them: of each
// module, of Go itself, and of this repository. They go into a folder that an image or an archive of the binaries must carry.
//
//	go run ./scripts/licenses -out bin/licenses ./cmd/reach
//
// A module without a licence is an error: what may not be passed on is not to be linked.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "bin/licenses", "folder to write, made anew")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(out string, packages []string) error {
	linked, err := linkedModules(packages)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return collect(out, linked)
}
