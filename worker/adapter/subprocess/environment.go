package subprocess

import (
	"strconv"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// taskVariables tell a program of its own which task it runs.
func taskVariables(task *worker.Task) []string {
	variables := []string{
		"REACH_TASK_ID=" + task.ID(),
		"REACH_CAPABILITY=" + task.Message.Capability,
		"REACH_ATTEMPT=" + strconv.Itoa(task.Message.Attempt),
		"REACH_DEADLINE=" + schemas.At(task.Deadline).String(),
	}
	if parent := task.Message.Traceparent; parent != "" && !strings.ContainsRune(parent, 0) {
		variables = append(variables, "TRACEPARENT="+parent)
	}
	return variables
}
