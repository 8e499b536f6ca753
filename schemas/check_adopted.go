package schemas

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// adoptable are the transports that need no more than an address, each with the schemes of its addresses: whoever adopts an agent knows
// how to drive it. Nothing that a registration says is ever run.
var adoptable = map[string][]string{
	"http":      {"http", "https"},
	"sse":       {"http", "https"},
	"websocket": {"ws", "wss"},
}

// inputs are what an agent can be given; posted are the transports that hand it over by a request, where there is a choice.
var (
	inputs = []string{"payload", "message", "execute"}
	posted = []string{"http", "sse"}
)

// Adoptable reports whether an agent behind this transport can be driven by what its registration says alone.
func (t *Transport) Adoptable() bool { return adoptable[t.Type] != nil }

// checkAdopted refuses what nobody could ever drive, of an agent that has no worker beside it.
func (r *Registration) checkAdopted() *Error {
	t := &r.Transport
	if !t.Adoptable() {
		return badValue("/transport/type", "http, sse or websocket where no process serves the agent (instance_id): any other needs a worker beside it")
	}
	schemes := adoptable[t.Type]
	return firstOf(
		unless(isAddress(t.Endpoint, schemes), "/transport/endpoint", "the address of the agent, with "+strings.Join(schemes, ":// or ")+"://"),
		unless(t.HealthCheck == "" || isURL(t.HealthCheck), "/transport/health_check", "an http or https URL"),
		unless(t.HealthCheck == "" || slices.Contains(posted, t.Type), "/transport/health_check", "nothing where type is "+t.Type+": its connection is the check"),
		unless(t.Input == "" || slices.Contains(posted, t.Type), "/transport/input", "nothing where type is "+t.Type),
	)
}

func isAddress(address string, schemes []string) bool {
	parsed, err := url.Parse(address)
	return err == nil && slices.Contains(schemes, parsed.Scheme) && parsed.Hostname() != ""
}

// checkCostWeight looks at the one member of an agent's metadata that routing reckons with.
func checkCostWeight(metadata jsontext.Value, field string) *Error {
	var known struct {
		CostWeight *float64 `json:"cost_weight"`
	}
	if metadata == nil {
		return nil
	}
	if !metadata.IsValid() {
		return unless(false, field, "JSON")
	}
	err := Decode(metadata, &known)
	return unless(err == nil && (known.CostWeight == nil || *known.CostWeight >= 0), field+"/cost_weight", "a number from 0")
}
