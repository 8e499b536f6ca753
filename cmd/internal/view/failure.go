package view

import (
	"github.com/agentreach/agent-reach/schemas"
)

// failure is what went wrong, in a row of its own.
func failure(e *schemas.Error) string {
	if e == nil {
		return ""
	}
	return Text(e.Error())
}

// cause is what led to the error, where that is another one.
func cause(e *schemas.Error) *schemas.Error {
	if e == nil || e.Details["cause"] == nil {
		return nil
	}
	led := new(schemas.Error)
	if schemas.Decode(e.Details["cause"], led) != nil || led.Code == "" {
		return nil
	}
	return led
}

// AgentSaid is the beginning of what an agent answered that failed, or the end of what its program wrote on stderr; empty where
// nothing is known of either. It is what whoever looks after the agent wants to see first.
func AgentSaid(e *schemas.Error) string {
	if e == nil {
		return ""
	}
	for _, name := range []string{"stderr", "excerpt"} {
		var said string
		if raw, found := e.Details[name]; found && schemas.Decode(raw, &said) == nil && said != "" {
			return Text(said)
		}
	}
	return AgentSaid(cause(e))
}
