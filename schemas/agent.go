package schemas

import "github.com/go-json-experiment/json/jsontext"

// Transports of agents without a worker: those that claim their tasks at a front, and devices that are given them over MQTT.
const (
	TransportClaim = "claim"
	TransportMQTT  = "mqtt"
)

// Transport says how a worker reaches an agent: Type is the name of an adapter.
type Transport struct {
	Type        string `json:"type"`
	Endpoint    string `json:"endpoint,omitzero"`
	HealthCheck string `json:"health_check,omitzero"`
	Input       string `json:"input,omitzero"` // what an agent without a worker is given: payload, message or execute; absent: as its address says

	Unknown jsontext.Value `json:",embed"`
}

// Offer is one capability as an agent declares it. Its schemas narrow the dictionary's; Idempotent holds only if the dictionary
// says so too. ErrorMapping goes from the agent's own codes to standard ones.
type Offer struct {
	ID                string          `json:"id"`
	Description       string          `json:"description,omitzero"`
	Tags              []string        `json:"tags,omitempty"`
	InputSchema       jsontext.Value  `json:"input_schema,omitzero"`
	OutputSchema      jsontext.Value  `json:"output_schema,omitzero"`
	ChunkSchema       jsontext.Value  `json:"chunk_schema,omitzero"` // of each piece of a result, in the agent's words
	ExpectedLatencyMS int64           `json:"expected_latency_ms,omitzero"`
	TimeoutHintMS     int64           `json:"timeout_hint_ms,omitzero"`
	MaxConcurrency    int             `json:"max_concurrency,omitzero"` // 1 when absent
	CostPerCall       *float64        `json:"cost_per_call,omitzero"`
	Idempotent        *bool           `json:"idempotent,omitzero"`
	Probe             Payload         `json:"probe,omitzero"`
	ErrorMapping      map[string]Code `json:"error_mapping,omitempty"`
	Alignment         *Alignment      `json:"alignment,omitzero"` // nil where the schemas spell everything alike

	Unknown jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom also takes a bare string, the id alone, and name for id.
func (o *Offer) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return decodeOffer(dec, o) }

// Registration is what an agent declares of itself. InstanceID is made anew by each process. One with Adopt is of an agent without a
// worker beside it: any that adopts may drive it. While none does, it has no InstanceID.
type Registration struct {
	V              Version        `json:"v"`
	AgentID        string         `json:"agent_id"`
	InstanceID     string         `json:"instance_id,omitzero"`
	Version        string         `json:"version"` // semver
	Service        string         `json:"service,omitzero"`
	Transport      Transport      `json:"transport"`
	MaxConcurrency int            `json:"max_concurrency,omitzero"` // over all capabilities; absent: the sum
	Capabilities   []Offer        `json:"capabilities"`
	Metadata       jsontext.Value `json:"metadata,omitzero"`
	Groups         []string       `json:"groups,omitempty"`
	Priority       *int           `json:"priority,omitzero"` // 0 to 100, 50 when absent
	Intermittent   bool           `json:"intermittent,omitzero"`
	Adopt          bool           `json:"adopt,omitzero"`
	LargeBodies    bool           `json:"large_bodies,omitzero"` // its worker fetches payloads that come by reference

	Unknown jsontext.Value `json:",embed"`
}

// Slots is how many tasks of a capability the agent runs at once; 0 if it does not offer it.
func (r *Registration) Slots(capability string) int {
	for i := range r.Capabilities {
		if r.Capabilities[i].ID == capability {
			return max(1, r.Capabilities[i].MaxConcurrency)
		}
	}
	return 0
}

// TotalSlots is how many tasks the agent runs at once, over all capabilities.
func (r *Registration) TotalSlots() int {
	sum := 0
	for i := range r.Capabilities {
		sum += max(1, r.Capabilities[i].MaxConcurrency)
	}
	if r.MaxConcurrency > 0 {
		return min(r.MaxConcurrency, sum)
	}
	return sum
}

// Offer is what the agent declared of a capability; nil if it does not offer it.
func (r *Registration) Offer(capability string) *Offer {
	for i := range r.Capabilities {
		if r.Capabilities[i].ID == capability {
			return &r.Capabilities[i]
		}
	}
	return nil
}

// Alignments are those of the capabilities that the agent spells in another way.
func (r *Registration) Alignments() map[string]*Alignment {
	all := make(map[string]*Alignment)
	for i := range r.Capabilities {
		if o := &r.Capabilities[i]; !o.Alignment.Empty() {
			all[o.ID] = o.Alignment
		}
	}
	return all
}

// AgentState is where an agent stands.
type AgentState string

// The states of an agent.
const (
	AgentPending  AgentState = "pending"
	AgentOnline   AgentState = "online"
	AgentDegraded AgentState = "degraded"
	AgentDraining AgentState = "draining"
	AgentOffline  AgentState = "offline"
)

// Registered answers a Registration. Alignments are by capability, of those alone that the agent spells in another way; ChunkSchemas
// are what each chunk of a capability has to fit, of those that have one.
type Registered struct {
	V                   Version               `json:"v"`
	AgentID             string                `json:"agent_id"`
	State               AgentState            `json:"state"`
	Revision            uint64                `json:"revision"`
	HeartbeatIntervalMS int64                 `json:"heartbeat_interval_ms"`
	ReceiptIntervalMS   int64                 `json:"receipt_interval_ms"`
	Alignments          map[string]*Alignment `json:"alignments,omitempty"`

	ChunkSchemas map[string]jsontext.Value `json:"chunk_schemas,omitempty"`
}

// Agent is what readers see of a registered agent. LoadAvg is that of its last heartbeat, and absent as long as the present process has
// sent none.
type Agent struct {
	V            Version      `json:"v"`
	AgentID      string       `json:"agent_id"`
	State        AgentState   `json:"state"`
	LastSeenAt   Time         `json:"last_seen_at,omitzero"`
	InFlight     int          `json:"in_flight"`
	LoadAvg      *float64     `json:"load_avg,omitempty"`
	Trouble      string       `json:"trouble,omitzero"` // why it is degraded
	Registration Registration `json:"registration"`
}

// AgentQuery selects agents of a list.
type AgentQuery struct {
	V          Version    `json:"v"`
	State      AgentState `json:"state,omitzero"`
	Capability string     `json:"capability,omitzero"`
	Adopt      bool       `json:"adopt,omitzero"`     // only those that a worker may adopt
	PageSize   int        `json:"page_size,omitzero"` // 1 to 100, 50 when absent
	PageToken  string     `json:"page_token,omitzero"`
}

// AgentPage is a part of the list of agents, by agent_id. NextPageToken asks for the next one; it is absent on the last.
type AgentPage struct {
	V             Version `json:"v"`
	Items         []Agent `json:"items"`
	NextPageToken string  `json:"next_page_token,omitzero"`
}

// AgentRef names an agent in a request.
type AgentRef struct {
	V       Version `json:"v"`
	AgentID string  `json:"agent_id"`
}

// MaxTroubleBytes bounds what is said of an agent's trouble.
const MaxTroubleBytes = 512

// MaxHeartbeatTasks bounds the ids in one heartbeat.
const MaxHeartbeatTasks = 256

// Heartbeat says that a worker and its agent live, and what the agent can serve now. State is online, draining or offline.
// LoadAvg is the 1-minute load divided by the cores; Time is shown, never judged by.
type Heartbeat struct {
	V             Version    `json:"v"`
	AgentID       string     `json:"agent_id"`
	InstanceID    string     `json:"instance_id"`
	Version       string     `json:"version,omitzero"`
	State         AgentState `json:"state"`
	Capabilities  []string   `json:"capabilities"`
	LoadAvg       float64    `json:"load_avg,omitzero"`
	Trouble       string     `json:"trouble,omitzero"` // why the agent can do nothing now
	InFlight      int        `json:"in_flight"`
	Queued        int        `json:"queued"`
	InFlightTasks []string   `json:"in_flight_tasks,omitempty"`
	Held          []uint64   `json:"held,omitempty"`
	Time          Time       `json:"time,omitzero"`
}

// Receipt names the tasks that a worker holds: the proof that an assignment arrived and that the agent works on it.
type Receipt struct {
	V          Version       `json:"v"`
	AgentID    string        `json:"agent_id"`
	InstanceID string        `json:"instance_id"`
	Time       Time          `json:"time,omitzero"`
	Tasks      []ReceiptTask `json:"tasks"`
}

// ReceiptTask is one held task: Running once the agent was asked.
type ReceiptTask struct {
	TaskID   string    `json:"task_id"`
	Attempt  int       `json:"attempt"`
	Sequence uint64    `json:"sequence"`
	Running  bool      `json:"running"`
	Progress *Progress `json:"progress,omitzero"`
	Hops     []Hop     `json:"hops,omitempty"`
}
