package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Versions is a set of versions of agents. The zero value holds all. It travels as text, so that what was decided once stays
// decided while routes change: "1.x; not >=1.4" is every 1.x below 1.4.
type Versions struct{ in, out []*semver.Constraints }

const (
	separator = "; "
	negation  = "not "
)

// ParseVersions reads the text of Versions. It is empty for all versions.
func ParseVersions(text string) (Versions, error) {
	var v Versions
	for part := range strings.SplitSeq(text, separator) {
		ranged, negated := strings.CutPrefix(part, negation)
		if part == "" {
			continue
		}
		c, err := semver.NewConstraint(ranged)
		if err != nil {
			return Versions{}, fmt.Errorf("parse range %q: %w", ranged, err)
		}
		if negated {
			v = v.without(c)
		} else {
			v = v.within(c)
		}
	}
	return v, nil
}

// String is the text that ParseVersions reads.
func (v Versions) String() string {
	var parts []string
	for _, c := range v.in {
		parts = append(parts, c.String())
	}
	for _, c := range v.out {
		parts = append(parts, negation+c.String())
	}
	return strings.Join(parts, separator)
}

// Check reports whether a version is in the set.
func (v Versions) Check(version *semver.Version) bool {
	for _, c := range v.in {
		if !c.Check(version) {
			return false
		}
	}
	return !slices.ContainsFunc(v.out, func(c *semver.Constraints) bool { return c.Check(version) })
}

// All reports whether every version is in the set, that of an agent too which nobody knows.
func (v Versions) All() bool { return len(v.in) == 0 && len(v.out) == 0 }

// within is v cut down to a range.
func (v Versions) within(c *semver.Constraints) Versions {
	return Versions{in: append(slices.Clip(v.in), c), out: v.out}
}

// without is v without a range.
func (v Versions) without(c *semver.Constraints) Versions {
	return Versions{in: v.in, out: append(slices.Clip(v.out), c)}
}

// both is what is in v as well as in other.
func (v Versions) both(other Versions) Versions {
	return Versions{in: slices.Concat(v.in, other.in), out: slices.Concat(v.out, other.out)}
}
