package subprocess

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Config says which program to run, and how. Command alone is needed.
type Config struct {
	Command []string // the program and its arguments; no shell sees them
	Dir     string   // where it runs; "" is where the worker runs
	Env     []string // NAME=value, given to the program whatever the name; see process.Environment

	KeepAlive bool // one long-lived child for all tasks, instead of a process for each

	MaxLine      int           // bytes of one line on stdout, and so of a result; 128 MiB
	KillAfter    time.Duration // from SIGTERM to SIGKILL; also for a program that has answered to exit; 5 s
	RestartAfter time.Duration // before a child that died is started again; doubles with each further death; 100 ms
	RestartMax   time.Duration // where the doubling ends; 30 s

	Logger zerolog.Logger // gets what the program logs, masked and bounded, at level debug
}

const (
	defaultMaxLine      = 128 << 20
	defaultKillAfter    = 5 * time.Second
	defaultRestartAfter = 100 * time.Millisecond
	defaultRestartMax   = 30 * time.Second
)

func (c Config) withDefaults() Config {
	c.MaxLine = cmp.Or(c.MaxLine, defaultMaxLine)
	c.KillAfter = cmp.Or(c.KillAfter, defaultKillAfter)
	c.RestartAfter = cmp.Or(c.RestartAfter, defaultRestartAfter)
	c.RestartMax = cmp.Or(c.RestartMax, defaultRestartMax)
	return c
}

func (c Config) check() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New("no command")
	}
	if c.MaxLine < 0 || c.KillAfter < 0 || c.RestartAfter < 0 || c.RestartMax < 0 {
		return errors.New("limits and delays cannot be negative")
	}
	for i, entry := range c.Env {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("env entry %d is not NAME=value", i+1)
		}
	}
	return nil
}
