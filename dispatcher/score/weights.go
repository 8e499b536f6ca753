package score

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Weights say how much each factor counts. Only their proportions matter. The zero value is Usual.
type Weights [factors]float64

// Presets.
var (
	// Usual is what counts where nobody says: as Quality, but how a share of an agent's slots is taken counts so little that, of agents
	// which have a free one, those that are done sooner go first.
	Usual = Weights{SchemaMatch: .4, HistorySuccess: .4, CurrentLoad: .1, Version: .1}
	// Quality prefers the agent that is likeliest to do the task well.
	Quality = Weights{SchemaMatch: .4, HistorySuccess: .3, CurrentLoad: .2, Version: .1}
	// Frugal prefers idle machines that cost little.
	Frugal = Weights{Capability: .4, LoadAverage: .3, CostWeight: .3}
)

// Preset is the weights of that name: usual, quality or frugal.
func Preset(name string) (weights Weights, found bool) {
	switch name {
	case "usual":
		return Usual, true
	case "quality":
		return Quality, true
	case "frugal":
		return Frugal, true
	}
	return Weights{}, false
}

// MaxPriorityShare is how much of all weight Priority may have: it is never the only factor.
const MaxPriorityShare = .5

// versionAlias is another name of Version.
const versionAlias = "version_penalty"

// FactorNames lists the names of the factors, version_penalty included.
func FactorNames() []string { return append(factorNames[:], versionAlias) }

// ParseWeights reads weights by the names of their factors; version_penalty is version. The error says what would be accepted.
func ParseWeights(named map[string]float64) (Weights, error) {
	var w Weights
	for _, name := range slices.Sorted(maps.Keys(named)) {
		factor, err := parseFactor(name)
		if err != nil {
			return Weights{}, err
		}
		if w[factor] != 0 {
			return Weights{}, fmt.Errorf("%s and %s are the same factor: name it once", factor, name)
		}
		w[factor] = named[name]
		if bad := w[factor]; !(bad >= 0) || math.IsInf(bad, 0) {
			return Weights{}, fmt.Errorf("the weight of %s is %v: it takes a number from 0", name, bad)
		}
	}
	return w, w.check()
}

func parseFactor(name string) (Factor, error) {
	if name == versionAlias {
		return Version, nil
	}
	if at := slices.Index(factorNames[:], name); at >= 0 {
		return Factor(at), nil
	}
	return 0, fmt.Errorf("%s is not a factor: there are %s", name, strings.Join(factorNames[:], ", "))
}

func (w Weights) check() error {
	sum := w.sum()
	switch {
	case sum == 0:
		return fmt.Errorf("no factor has a weight: give one of %s more than 0", strings.Join(factorNames[:], ", "))
	case math.IsInf(sum, 0):
		return fmt.Errorf("the weights are too large to be added")
	case w[Priority]/sum > MaxPriorityShare:
		return fmt.Errorf("priority has %.2f of all weight: %.2f is the most, so that a busy machine can lose to an idle one",
			w[Priority]/sum, MaxPriorityShare)
	}
	return nil
}

func (w Weights) sum() float64 {
	sum := 0.0
	for _, weight := range w {
		sum += weight
	}
	return sum
}

// normalised adds up to 1.
func (w Weights) normalised() Weights {
	sum := w.sum()
	if !(sum > 0) || math.IsInf(sum, 0) {
		w, sum = Usual, Usual.sum()
	}
	for factor := range w {
		w[factor] /= sum
	}
	return w
}
