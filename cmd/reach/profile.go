package main

import (
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/agentreach/agent-reach/cmd/internal/bench"
)

// startProfile writes a processor profile of this process, if the environment asks for one, until stop is called.
func startProfile(getenv func(string) string) (stop func(), err error) {
	path := getenv(bench.ProfileVariable)
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}
