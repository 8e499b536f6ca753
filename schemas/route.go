package schemas

// RoutePage is the routes of a dispatcher, in their order: the first that matches counts.
type RoutePage struct {
	V     Version `json:"v"`
	Items []Route `json:"items"`
}

// Route says what an intent leads to. What is empty in a Match wants nothing of the message.
type Route struct {
	Name     string             `json:"name"`
	Match    RouteMatch         `json:"match"`
	Target   RouteTarget        `json:"target"`
	Fallback *RouteFallback     `json:"fallback,omitzero"` // where a task goes, once, that no agent of the target can run
	Timeouts RouteTimeouts      `json:"timeouts,omitzero"`
	Weights  map[string]float64 `json:"weights,omitempty"` // of the factors of a score; absent: as the house does
}

// RouteMatch is what a route wants of a message.
type RouteMatch struct {
	Intent       string   `json:"intent,omitzero"`
	RequiredTags []string `json:"required_tags,omitempty"` // the message has all of these
	Tenant       string   `json:"tenant,omitzero"`
}

// RouteTarget is where a route leads.
type RouteTarget struct {
	Capability string       `json:"capability"`
	Strategy   string       `json:"strategy,omitzero"`  // empty: as the house does
	StickyBy   string       `json:"sticky_by,omitzero"` // a member of the message's metadata
	MinVersion string       `json:"min_version,omitzero"`
	Version    string       `json:"version,omitzero"` // a range
	Split      []RouteSplit `json:"split,omitempty"`
}

// RouteSplit sends a share of the tasks to agents of some versions, and the other tasks to agents of all other versions.
type RouteSplit struct {
	Version string  `json:"version"` // a range
	Percent float64 `json:"percent"` // 0 to 100
}

// RouteFallback is the capability that a task turns to when its target fails it.
type RouteFallback struct {
	Capability string `json:"capability"`
	Strategy   string `json:"strategy,omitzero"`
}

// RouteTimeouts stand in for those that a message does not name.
type RouteTimeouts struct {
	TimeoutMS    int64 `json:"timeout_ms,omitzero"`
	RunTimeoutMS int64 `json:"run_timeout_ms,omitzero"`
}
