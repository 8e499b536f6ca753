package schemas

// Bounds of what an agent without a feed says.
const (
	MaxHeld       = 4096 // sequences in one message
	MaxClaimTasks = 256  // tasks in the answer to one claim, and in one receipt
)

// Claim asks for work where there is no feed: a Pull whose answer waits until there is some. What is absent of Free is every slot that
// the agent has declared. Held, where it is there, is all that the agent has: what it does not name was lost on its way, and comes
// again. ClaimID names the claim: the same again brings the same answer.
type Claim struct {
	V          Version        `json:"v"`
	AgentID    string         `json:"agent_id,omitzero"`
	InstanceID string         `json:"instance_id"`
	ClaimID    string         `json:"claim_id,omitzero"`
	Free       map[string]int `json:"free,omitempty"`
	FreeTotal  int            `json:"free_total,omitzero"`
	Held       []uint64       `json:"held,omitzero"`
}

// Claimed answers a Claim. What has side effects is begun.
type Claimed struct {
	V           Version       `json:"v"`
	Assignments []ClaimedTask `json:"assignments"`
	Stop        []Stop        `json:"stop,omitempty"`
	Draining    bool          `json:"draining,omitzero"`
}

// ClaimedTask is one task to run: its ReachMessage, literal by literal, and the token that its receipts, chunks and result name.
type ClaimedTask struct {
	Sequence uint64  `json:"sequence"`
	Message  Payload `json:"message"`
}

// Stop says that the agent is to stop a task: its caller has canceled it, its run limit has passed, or somebody else has it.
type Stop struct {
	TaskID   string `json:"task_id,omitzero"`
	Sequence uint64 `json:"sequence"`
	Reason   string `json:"reason"`
}

// Heard answers a heartbeat, a receipt and a chunk of an agent that claims. Ack is the number of the last chunk that was taken.
type Heard struct {
	V        Version `json:"v"`
	Ack      int64   `json:"ack,omitzero"`
	Stop     []Stop  `json:"stop,omitempty"`
	Draining bool    `json:"draining,omitzero"`
}
