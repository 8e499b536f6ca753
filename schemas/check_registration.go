package schemas

import (
	"fmt"
	"net/url"
)

// Bounds of a Registration.
const (
	MaxOffers        = 256
	MaxConcurrency   = 10000
	MaxGroups        = 64
	MaxAgentPriority = 100
	MaxErrorMapping  = 256
)

const (
	maxServiceBytes     = 128
	maxTransportBytes   = 64
	maxDescriptionBytes = 4096
	maxAgentCodeBytes   = 128
)

// Check refuses a registration that breaks a bound or a grammar. Whether its capabilities exist and its schemas compile is the
// dictionary's to say.
func (r *Registration) Check() *Error {
	return firstOf(
		checkVersion(r.V),
		at("/agent_id", CheckAgentID(r.AgentID)),
		r.checkInstance(),
		checkSemver(r.Version, "/version"),
		checkOptionalText(r.Service, maxServiceBytes, "/service"),
		r.Transport.check(),
		checkRange(int64(r.MaxConcurrency), 0, MaxConcurrency, "/max_concurrency"),
		r.checkOffers(),
		checkObject(r.Metadata, MaxMetadataBytes, "/metadata"),
		checkCostWeight(r.Metadata, "/metadata"),
		r.checkGroups(),
		r.checkPriority(),
	)
}

// checkInstance takes no process where none serves the agent: then a worker has to know where the agent is.
func (r *Registration) checkInstance() *Error {
	if !r.Adopt {
		return checkToken(r.InstanceID, "/instance_id")
	}
	return firstOf(checkOptionalToken(r.InstanceID, "/instance_id"), r.checkAdopted())
}

func (t *Transport) check() *Error {
	return firstOf(
		checkText(t.Type, maxTransportBytes, "/transport/type"),
		checkAddress(t.Endpoint, "/transport/endpoint"),
		checkAddress(t.HealthCheck, "/transport/health_check"),
		checkOneOf(t.Input, inputs, "/transport/input"),
	)
}

// checkAddress takes any form of address that some adapter knows, but no credentials: registrations are shown.
func checkAddress(address, field string) *Error {
	parsed, err := url.Parse(address)
	return firstOf(
		checkOptionalText(address, maxURLBytes, field),
		unless(err != nil || parsed.User == nil, field, "an address without user name and password"),
	)
}

func (r *Registration) checkOffers() *Error {
	const field = "/capabilities"
	if len(r.Capabilities) == 0 || len(r.Capabilities) > MaxOffers {
		return badValue(field, fmt.Sprintf("1 to %d capabilities", MaxOffers))
	}
	seen := make(map[string]bool, len(r.Capabilities))
	for i := range r.Capabilities {
		o, where := &r.Capabilities[i], fmt.Sprintf("%s/%d", field, i)
		if problem := o.check(where); problem != nil {
			return problem
		}
		if seen[o.ID] {
			return badValue(where+"/id", "each capability once; "+o.ID+" is there twice")
		}
		seen[o.ID] = true
	}
	return nil
}

func (o *Offer) check(field string) *Error {
	return firstOf(
		at(field+"/id", CheckCapability(o.ID)),
		unless(len(o.Description) <= maxDescriptionBytes, field+"/description", fmt.Sprintf("at most %d bytes", maxDescriptionBytes)),
		checkTags(o.Tags, field+"/tags"),
		checkRange(int64(o.MaxConcurrency), 0, MaxConcurrency, field+"/max_concurrency"),
		checkSpan(o.ExpectedLatencyMS, field+"/expected_latency_ms"),
		checkSpan(o.TimeoutHintMS, field+"/timeout_hint_ms"),
		unless(o.CostPerCall == nil || *o.CostPerCall >= 0, field+"/cost_per_call", "a number from 0"),
		checkErrorMapping(o.ErrorMapping, field+"/error_mapping"),
	)
}

func checkErrorMapping(mapping map[string]Code, field string) *Error {
	if problem := checkLength(len(mapping), MaxErrorMapping, field); problem != nil {
		return problem
	}
	for agentCode, code := range mapping {
		if !isText(agentCode, maxAgentCodeBytes) {
			return badValue(field, fmt.Sprintf("the agent's own codes, each 1 to %d bytes of printable text", maxAgentCodeBytes))
		}
		if !code.Standard() {
			return badValue(field, "for each code of the agent one of "+list(Codes))
		}
	}
	return nil
}

func (r *Registration) checkGroups() *Error {
	if problem := checkLength(len(r.Groups), MaxGroups, "/groups"); problem != nil {
		return problem
	}
	for i, group := range r.Groups {
		if problem := at(fmt.Sprintf("/groups/%d", i), CheckGroup(group)); problem != nil {
			return problem
		}
	}
	return nil
}

func (r *Registration) checkPriority() *Error {
	if r.Priority == nil {
		return nil
	}
	return checkRange(int64(*r.Priority), 0, MaxAgentPriority, "/priority")
}
