package schemas

// Alignment is where an agent spells the payload, the result and the chunks of a capability in another way than the dictionary does. It is
// derived from the schemas of both when the agent registers; what an agent itself says of it is replaced.
type Alignment struct {
	Input  []Spelling `json:"input,omitempty"`
	Output []Spelling `json:"output,omitempty"`
	Chunk  []Spelling `json:"chunk,omitempty"`
}

// Spelling is how the agent spells one value. At is a JSON pointer in the capability's terms, with * for every element of a list.
// Name is what the agent calls the member. TimeFrom and TimeTo are the capability's and the agent's form of an instant. Enum goes
// from the capability's constants to the agent's.
type Spelling struct {
	At       string            `json:"at"`
	Name     string            `json:"name,omitzero"`
	TimeFrom TimeForm          `json:"time_from,omitzero"`
	TimeTo   TimeForm          `json:"time_to,omitzero"`
	Enum     map[string]string `json:"enum,omitempty"`
}

// TimeForm is a way to give an instant.
type TimeForm string

// The forms: a text as RFC 3339 has it, whole seconds or milliseconds since 1970, seconds with a fraction.
const (
	TimeText     TimeForm = "rfc3339"
	TimeSeconds  TimeForm = "epoch_s"
	TimeMillis   TimeForm = "epoch_ms"
	TimeFraction TimeForm = "epoch"
)

// Empty reports whether agent and dictionary spell everything alike.
func (a *Alignment) Empty() bool {
	return a == nil || len(a.Input) == 0 && len(a.Output) == 0 && len(a.Chunk) == 0
}
