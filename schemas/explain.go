package schemas

// Explanation is why a message would go where it would: every agent of the capability, with its factors or the reason for which it
// was left out.
type Explanation struct {
	V          Version `json:"v"`
	Capability string  `json:"capability"`
	Rule       string  `json:"rule"` // the route's name, or capability
	Strategy   string  `json:"strategy"`
	Share      string  `json:"share,omitzero"` // of a split, the versions that the message falls to
	// ShareMissed says that no agent of the share is there: the others are the candidates.
	ShareMissed bool                 `json:"share_missed,omitzero"`
	Preferred   string               `json:"preferred,omitzero"` // the agent that the caller would rather have
	Winner      string               `json:"winner,omitzero"`    // absent while every agent is full, or none is there
	Chain       []string             `json:"chain,omitempty"`
	Candidates  []ExplainedCandidate `json:"candidates"` // best first
	LeftOut     []LeftOut            `json:"left_out"`
}

// ExplainedCandidate is an agent that may have the task. Each factor is 0 to 1.
type ExplainedCandidate struct {
	AgentID  string             `json:"agent_id"`
	Score    float64            `json:"score"`
	InFlight int                `json:"in_flight"`
	Slots    int                `json:"slots"`
	Factors  map[string]float64 `json:"factors"`
}

// LeftOut is an agent that may not have the task, and why.
type LeftOut struct {
	AgentID string `json:"agent_id"`
	Why     string `json:"why"`
}
