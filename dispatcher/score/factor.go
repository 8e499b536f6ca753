package score

import (
	"cmp"
	"math"
	"time"

	"github.com/Masterminds/semver/v3"
)

// Factor is one reason to prefer an agent to another, in numbers from 0 to 1, the higher the better.
type Factor int

const (
	// SchemaMatch is how well payload and contract go together: .6 for the share of the required members that are present, .2 for
	// the share of the other members that the agent's schema knows, .2 if the output is in the format asked for.
	SchemaMatch Factor = iota
	// HistorySuccess is (ok+4)/(n+5) of the last n results: an agent without a past has .8, and must earn or lose the rest.
	HistorySuccess
	// CurrentLoad is 1/(1+max(load_avg, in_flight/max_concurrency)).
	CurrentLoad
	// Cost is 1/(1+c), where c is cost_per_call, else cost_weight, else 1.
	Cost
	// Health is freshness/(1+load_avg). Freshness is 1 within one heartbeat interval, and falls evenly to 0 at the TTL.
	Health
	// Latency is 1/(1+p50/timeout_hint).
	Latency
	// Version is 1 less a penalty: 0 for the newest of the candidates, ¼ a patch behind it, ½ a minor version, 1 a major one.
	Version
	// ModeFit is 1 unless the result is to be streamed and the agent cannot: then it is 0.
	ModeFit
	// Priority is priority/100.
	Priority
	// Capability is 1 for an agent that offers the very capability asked for, as all do that pass the filters.
	Capability
	// LoadAverage is 1/(1+load_avg).
	LoadAverage
	// CostWeight is 1/(1+cost_weight).
	CostWeight

	factors = iota
)

var factorNames = [factors]string{
	"schema_match", "history_success", "current_load", "cost", "health", "latency", "version", "mode_fit", "priority",
	"capability", "load_avg", "cost_weight",
}

// String is the factor's name in the configuration.
func (f Factor) String() string { return factorNames[f] }

// Factors are all factors of one candidate.
type Factors [factors]float64

// ByName is the factors as people read them.
func (f Factors) ByName() map[string]float64 {
	named := make(map[string]float64, factors)
	for factor, value := range f {
		named[factorNames[factor]] = value
	}
	return named
}

// The intervals of heartbeats where a request names none.
const (
	DefaultInterval = 15 * time.Second
	DefaultTTL      = 45 * time.Second
)

// scale is what the candidates of one request are measured against.
type scale struct {
	*Request
	candidates    []Candidate
	start         uint64 // of the hashes that break ties
	newest        *semver.Version
	interval, ttl time.Duration
	weights       Weights
	weighty       []Factor // those that have a weight
	band          float64  // how much better the lead may be than one that goes before it
}

func newScale(candidates []Candidate, r *Request) *scale {
	s := &scale{
		Request: r, candidates: candidates, start: seed(r.Key), newest: newest(candidates), interval: cmp.Or(r.Interval, DefaultInterval), ttl: cmp.Or(r.TTL, DefaultTTL),
		weights: r.Weights.normalised(), weighty: make([]Factor, 0, factors),
	}
	for factor, weight := range s.weights {
		if weight > 0 {
			s.weighty = append(s.weighty, Factor(factor))
		}
	}
	return s
}

func newest(candidates []Candidate) *semver.Version {
	var newest *semver.Version
	for i := range candidates {
		if v := candidates[i].Version; v != nil && v != newest && (newest == nil || v.GreaterThan(newest)) {
			newest = v
		}
	}
	return newest
}

// score is the weighted sum of a candidate's factors, always added up in the same order.
func (s *scale) score(c *Candidate) float64 {
	sum := 0.0
	for _, factor := range s.weighty {
		sum += s.weights[factor] * s.factor(factor, c)
	}
	return sum
}

func (s *scale) factors(c *Candidate) Factors {
	var all Factors
	for factor := range all {
		all[factor] = s.factor(Factor(factor), c)
	}
	return all
}

func (s *scale) factor(factor Factor, c *Candidate) float64 {
	switch factor {
	case SchemaMatch:
		return c.Fit.match()
	case HistorySuccess:
		return share(c.Successes+4, c.Results+5)
	case CurrentLoad:
		return inverse(max(amount(c.Average), c.Taken()))
	case Cost:
		return inverse(c.cost())
	case Health:
		return s.freshness(c.Heard) * inverse(c.Average)
	case Latency:
		return inverse(float64(c.Median) / float64(cmp.Or(max(c.Hint, 0), DefaultHint)))
	case Version:
		return 1 - penalty(c.Version, s.newest)
	case ModeFit:
		return s.modeFit(c)
	case Priority:
		return c.priority()
	case Capability:
		return oneIf(c.Offers)
	case LoadAverage:
		return inverse(c.Average)
	case CostWeight:
		return inverse(c.weight())
	}
	return 0
}

func (f *Fit) match() float64 {
	return .6*share(f.Present, f.Required) + .2*share(f.Declared, f.Optional) + .2*oneIf(!f.OtherOutput)
}

func (p *Price) cost() float64 {
	if p.PerCall != nil {
		return *p.PerCall
	}
	return p.weight()
}

func (p *Price) weight() float64 {
	if p.Weight != nil {
		return *p.Weight
	}
	return 1
}

func (c *Candidate) priority() float64 {
	if c.Priority == nil {
		return .5
	}
	return clamp(float64(*c.Priority) / 100)
}

func (s *scale) modeFit(c *Candidate) float64 { return oneIf(!s.Stream || c.Streams) }

func (s *scale) freshness(heard time.Time) float64 {
	age := s.Now.Sub(heard)
	if age <= s.interval {
		return 1
	}
	return clamp(float64(s.ttl-age) / float64(max(1, s.ttl-s.interval)))
}

func penalty(v, newest *semver.Version) float64 {
	switch {
	case v == newest:
		return 0
	case v == nil || v.Major() < newest.Major():
		return 1
	case v.Minor() < newest.Minor():
		return .5
	case v.LessThan(newest):
		return .25
	}
	return 0
}

// share is part/whole; 1 of nothing is all of it.
func share(part, whole int) float64 {
	if whole <= 0 {
		return 1
	}
	return clamp(float64(part) / float64(whole))
}

func inverse(x float64) float64 { return 1 / (1 + amount(x)) }

// amount is x, or 0 for what is no amount: whoever reports nonsense gains nothing over those who report nothing.
func amount(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, x)
}

func clamp(x float64) float64 { return min(1, max(0, x)) }

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
