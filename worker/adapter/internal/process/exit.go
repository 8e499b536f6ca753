package process

import "os"

// Exit is how a program ended.
type Exit struct {
	Code     int  // as a shell has it: 128 + the signal for one that died of it
	Signaled bool // it died of a signal
	Told     bool // we had asked it to end
	Killed   bool // we had to kill it
}

func exitOf(state *os.ProcessState, told, killed bool) Exit {
	e := Exit{Code: state.ExitCode(), Told: told, Killed: killed}
	if number := signalOf(state); number > 0 {
		e.Code, e.Signaled = 128+number, true
	}
	return e
}
