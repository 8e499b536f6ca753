package broker

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Any stands for every name in a subject that is subscribed to.
const Any = "*"

const (
	ledgerSubjects = "reach.task.>"
	feedSubjects   = "reach.feed.>"
	bodySubjects   = "reach.body.*.*.*"
	stagedSubjects = "reach.staged.*.*.*"
	ledgerPrefix   = "reach.task."
	feedPrefix     = "reach.feed."
)

// The subjects of the house. Each builder checks the names that go in; Any is legal everywhere, for subscriptions. A subject with
// an illegal name is empty, and every operation refuses the empty subject with INVALID_ARGUMENT.

// SubjectPull is where a worker asks for work.
func SubjectPull(agent string) string { return agentSubject("pull", agent) }

// SubjectBegin is where a worker asks for the right to start a task.
func SubjectBegin(agent string) string { return agentSubject("begin", agent) }

// SubjectFinish is where a worker brings a result.
func SubjectFinish(agent string) string { return agentSubject("finish", agent) }

// SubjectRelease is where a worker gives back a task that it has not begun.
func SubjectRelease(agent string) string { return agentSubject("release", agent) }

// SubjectBegins, SubjectFinishes and SubjectReleases are where several of them come in a bundle.
func SubjectBegins(agent string) string { return agentSubject("begins", agent) }

// SubjectFinishes: see SubjectBegins.
func SubjectFinishes(agent string) string { return agentSubject("finishes", agent) }

// SubjectReleases: see SubjectBegins.
func SubjectReleases(agent string) string { return agentSubject("releases", agent) }

// SubjectHeartbeat is where a worker says that it lives.
func SubjectHeartbeat(agent string) string { return agentSubject("heartbeat", agent) }

// SubjectReceipt is where a worker tells all dispatchers which tasks it holds.
func SubjectReceipt(agent string) string { return agentSubject("receipt", agent) }

// SubjectBlob is where a worker moves the parts of bodies that are too large for a message.
func SubjectBlob(agent string) string { return agentSubject("blob", agent) }

// SubjectControl is where a worker hears from dispatchers.
func SubjectControl(agent string) string { return agentSubject("control", agent) }

// SubjectChunk carries the chunks of a task from its worker to readers.
func SubjectChunk(agent, task string) string {
	return joined(agentSubject("chunk", agent), task, schemas.CheckTaskID)
}

// SubjectCredit carries the acknowledgements of chunks from readers to the worker.
func SubjectCredit(agent, task string) string {
	return joined(agentSubject("credit", agent), task, schemas.CheckTaskID)
}

// SubjectResult carries a task that has ended, once, to those who wait for it.
func SubjectResult(tenant, task string) string {
	return joined(joined("reach.result", tenant, schemas.CheckTenant), task, schemas.CheckTaskID)
}

// WordResults is the last word of the subject beside an answer where the results of tasks are heard: Request.Beside.
const WordResults = "_results"

// SubjectDevice is where a device without NATS, known by its agent_id, says something to the house: over MQTT the topic
// reach/v1/<device>/<verb>.
func SubjectDevice(device, verb string) string {
	return joined(joined("reach.v1", device, schemas.CheckAgentID), verb, checkWord)
}

// SubjectDeviceIn is where a device hears from the house: over MQTT the topic reach/v1/<device>/in/<kind>.
func SubjectDeviceIn(device, kind string) string {
	return joined(SubjectDevice(device, "in"), kind, checkWord)
}

// ParseDevice reads the subject of what a device says; ok is false for what no legal device has said.
func ParseDevice(subject string) (device, verb string, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 {
		return "", "", false
	}
	device, verb = tokens[2], tokens[3]
	return device, verb, device != Any && verb != Any && subject == SubjectDevice(device, verb)
}

// SubjectAPI is an endpoint of the micro service, such as task, submit.
func SubjectAPI(noun, verb string) string {
	return joined(joined("reach.api", noun, checkWord), verb, checkWord)
}

// subjectDispatcher carries the beats of a dispatcher.
func subjectDispatcher(id string) string { return joined("reach.dispatcher", id, schemas.CheckAgentID) }

func agentSubject(verb, agent string) string {
	return joined("reach."+verb, agent, schemas.CheckAgentID)
}

// joined is prefix.name; empty if prefix is or if name is neither legal nor Any.
func joined(prefix, name string, check func(string) error) string {
	if prefix == "" || name != Any && check(name) != nil {
		return ""
	}
	return prefix + "." + name
}

var word = regexp.MustCompile(`^[a-z]{1,32}$`)

func checkWord(name string) error {
	if !word.MatchString(name) {
		return errBadSubject()
	}
	return nil
}

// namesAgent reports whether a subject is one of a worker's, which ends in the agent's name.
func namesAgent(subject string) bool {
	return strings.Count(subject, ".") == 2 && strings.HasPrefix(subject, "reach.")
}

// agentOf is the agent that a worker's subject names; empty for all other subjects, and for a name that is not legal.
func agentOf(subject string) string {
	agent := subject[strings.LastIndexByte(subject, '.')+1:]
	if !namesAgent(subject) || schemas.CheckAgentID(agent) != nil {
		return ""
	}
	return agent
}

// taskFilter matches every message of a task. It is the filter of every compare-and-set, and replicas serialise writers by this
// very string: it must be built here and nowhere else.
func taskFilter(task string) string { return ledgerPrefix + task + ".>" }

// phaseFilter matches every message of one phase of a task.
func phaseFilter(task string, phase schemas.Phase) string {
	return ledgerPrefix + task + "." + string(phase) + ".*.*"
}

// assignedFeed matches what the feed says of assignments to one agent.
func assignedFeed(agent string) string {
	if schemas.CheckAgentID(agent) != nil {
		return ""
	}
	return feedPrefix + string(schemas.PhaseAssigned) + ".*." + agent + ".*"
}

// ParseSubject reads the subject of a ledger or feed message into the four fields of an Entry that stand in it.
func ParseSubject(subject string) (Entry, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 6 || tokens[0] != "reach" {
		return Entry{}, fmt.Errorf("parse subject: not one of the ledger or its feed")
	}
	var e Entry
	switch rest := tokens[2:]; tokens[1] {
	case "task":
		e = Entry{TaskID: rest[0], Phase: schemas.Phase(rest[1]), Capability: rest[2], Agent: rest[3]}
	case "feed":
		e = Entry{Phase: schemas.Phase(rest[0]), Capability: rest[1], Agent: rest[2], TaskID: rest[3]}
	default:
		return Entry{}, fmt.Errorf("parse subject: not one of the ledger or its feed")
	}
	if err := e.checkNames(); err != nil {
		return Entry{}, fmt.Errorf("parse subject: %w", err)
	}
	return e, nil
}
