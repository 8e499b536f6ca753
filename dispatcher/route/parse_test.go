package route_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

func TestRoutesAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	table := parse(t, `
routes:
  - name: reviews
    match: {intent: Code Review, required_tags: [quick, lab, quick], tenant: acme}
    target:
      capability: code_review
      strategy: sticky
      sticky_by: customer
      min_version: 1.2.0
      version: ">=1.2.0, <3"
      split:
        - {version: 2.x, percent: 12.5}
    fallback: &lite {capability: code_review_lite, strategy: least_concurrency}
    timeouts: {timeout_ms: 60000, run_timeout_ms: 30000}
    weights: {schema_match: 4, version_penalty: 1}
  - {name: others, match: {required_tags: [slow]}, target: {capability: echo}, fallback: *lite, weights: quality}
`)
	want := []schemas.Route{
		{
			Name:  "reviews",
			Match: schemas.RouteMatch{Intent: "Code Review", RequiredTags: []string{"lab", "quick"}, Tenant: "acme"},
			Target: schemas.RouteTarget{
				Capability: "code_review", Strategy: string(score.Sticky), StickyBy: "customer", MinVersion: "1.2.0", Version: ">=1.2.0, <3",
				Split: []schemas.RouteSplit{{Version: "2.x", Percent: 12.5}},
			},
			Fallback: &schemas.RouteFallback{Capability: "code_review_lite", Strategy: string(score.LeastConcurrency)},
			Timeouts: schemas.RouteTimeouts{TimeoutMS: 60000, RunTimeoutMS: 30000},
			Weights:  map[string]float64{"schema_match": 4, "version_penalty": 1},
		},
		{
			Name:     "others",
			Match:    schemas.RouteMatch{RequiredTags: []string{"slow"}},
			Target:   schemas.RouteTarget{Capability: "echo"},
			Fallback: &schemas.RouteFallback{Capability: "code_review_lite", Strategy: string(score.LeastConcurrency)},
			Weights:  map[string]float64{"schema_match": .4, "history_success": .3, "current_load": .2, "version": .1},
		},
	}
	if diff := cmp.Diff(want, table.Routes()); diff != "" {
		t.Error(diff)
	}
	if got := table.Weights("others"); got == nil || *got != score.Quality || table.Weights("nobody") != nil {
		t.Errorf("got the weights %v", got)
	}
	if r, found := table.Route("others"); !found || r.Target.Capability != "echo" {
		t.Errorf("got %+v (%v)", r, found)
	}
	if _, found := table.Route("nobody"); found {
		t.Error("there is no route of that name")
	}
}

// routes puts one route into a file, its members from the third line on.
func routes(members string) string {
	return "routes:\n  -\n    " + strings.ReplaceAll(strings.TrimSpace(members), "\n", "\n    ") + "\n"
}

const (
	named = "name: r\n"
	meant = "match: {intent: a}\n"
	leads = "target: {capability: echo}\n"
)

// inTarget is a route with one more member in its target, in line 5; beside has one more beside it, in line 6.
func inTarget(member string) string {
	return routes(named + meant + "target: {capability: echo, " + member + "}")
}
func beside(member string) string { return routes(named + meant + leads + member) }

func TestAFileIsRefusedWithTheLineAndTheReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string // the beginnings of the problems
	}{
		{"an empty file", "", []string{"line 1: the file is empty; routes: [] says that there are none"}},
		{"a comment alone", "# nothing\n", []string{"line 1: the file is empty"}},
		{"no YAML", "routes:\n- {\n", []string{"line "}},
		{"a list", "- a\n", []string{"line 1: the file is an object with routes"}},
		{"two documents", "routes: []\n---\nroutes: []\n", []string{"line 2: the file has more than one document"}},
		{
			"a misspelt beginning", "\nroute: []\n",
			[]string{`line 2: "route" is not known here; the file has routes`, "line 2: the file needs routes"},
		},
		{"no list", "routes: {}\n", []string{"line 1: routes is a list"}},
		{"no object", "routes:\n- a\n", []string{"line 2: a route is an object with fallback, match, name, target, timeouts, weights"}},
		{
			"nothing in it", "routes:\n- {}\n",
			[]string{"line 2: a route needs name", "line 2: a route needs match", "line 2: a route needs target"},
		},
		{"a member that is unknown", beside("colour: red"), []string{`line 6: "colour" is not known here; a route has`}},
		{"a member twice", beside("name: s"), []string{"line 6: name is there twice"}},
		{"a name that is empty", routes("name: ''\n" + meant + leads), []string{"line 3: name takes 1 to 64 bytes of printable text"}},
		{"a name that is a list", routes("name: [r]\n" + meant + leads), []string{"line 3: name takes"}},
		{"a name of two lines", routes("name: \"a\\nb\"\n" + meant + leads), []string{"line 3: name takes"}},
		{"no condition", routes(named + "match: {}\n" + leads), []string{"line 4: match needs an intent, required_tags or a tenant"}},
		{"an intent of blanks", routes(named + "match: {intent: '  '}\n" + leads), []string{"line 4: intent takes words"}},
		{
			"tags that are no list", routes(named + "match: {required_tags: a}\n" + leads),
			[]string{"line 4: required_tags is a list", "line 4: match needs"},
		},
		{"a tenant that is none", routes(named + "match: {tenant: A_B}\n" + leads), []string{"line 4: tenant takes lower-case letters"}},
		{"a target that is a text", routes(named + meant + "target: echo"), []string{"line 5: target is an object with capability, "}},
		{"a target without a capability", routes(named + meant + "target: {strategy: score}"), []string{"line 5: target needs capability"}},
		{"a capability that is no name", routes(named + meant + "target: {capability: A-B}"), []string{"line 5: capability takes lower"}},
		{"an unknown strategy", inTarget("strategy: best"), []string{`line 5: "best" is not a strategy: there are score, `}},
		{"a version that is none", inTarget("min_version: newest"), []string{"line 5: min_version takes a semantic version"}},
		{"a version that is cut short", inTarget("min_version: 1.2"), []string{"line 5: min_version takes a semantic version"}},
		{"a range that is none", inTarget("version: '>>1'"), []string{"line 5: version takes a range"}},
		{"an empty split", inTarget("split: []"), []string{"line 5: split is a list with a version"}},
		{"a part without a percent", inTarget("split: [{version: 2.x}]"), []string{"line 5: a part of split needs percent"}},
		{"a percent that is a text", inTarget("split: [{version: 2.x, percent: 10%}]"), []string{"line 5: percent takes a number"}},
		{"less than nothing", inTarget("split: [{version: 2.x, percent: -1}]"), []string{"line 5: percent takes 0 to 100"}},
		{"no number", inTarget("split: [{version: 2.x, percent: .nan}]"), []string{"line 5: percent takes a number"}},
		{
			"more than everything", inTarget("split: [{version: 1.x, percent: 60}, {version: 2.x, percent: 60.5}]"),
			[]string{"line 5: the shares of split are 120.5 percent together; 100 is the most"},
		},
		{
			"one version twice", inTarget("split: [{version: 2.x, percent: 10}, {version: 2.x, percent: 10}]"),
			[]string{"line 5: the version 2.x is there twice"},
		},
		{"a fallback that is a text", beside("fallback: echo"), []string{"line 6: fallback is an object with capability, strategy"}},
		{"a timeout that is no whole number", beside("timeouts: {timeout_ms: 1.5}"), []string{"line 6: timeout_ms takes a whole number"}},
		{"a timeout of months", beside("timeouts: {run_timeout_ms: 99999999999}"), []string{"line 6: run_timeout_ms takes 0 to "}},
		{"a preset that is unknown", beside("weights: lavish"), []string{"line 6: weights are usual, quality, frugal, or factors"}},
		{"a factor that is unknown", beside("weights: {luck: 1}"), []string{`line 6: "luck" is not known here; weights has capability, `}},
		{"a weight that is a text", beside("weights: {cost: much}"), []string{"line 6: the weight of cost takes a number"}},
		{"nothing but priority", beside("weights: {priority: 1}"), []string{"line 6: priority has 1.00 of all weight"}},
		{
			"a name twice",
			"routes:\n" +
				"- {name: r, match: {intent: a}, target: {capability: echo}}\n" +
				"- {name: r, match: {intent: b}, target: {capability: echo}}\n",
			[]string{`line 3: the name "r" is there twice`},
		},
		{
			"a route behind another that matches the same",
			"routes:\n" +
				"- {name: r, match: {intent: doIt, required_tags: [b, a]}, target: {capability: echo}}\n" +
				"- {name: s, match: {intent: do-it, required_tags: [a, b]}, target: {capability: echo}}\n",
			[]string{`line 3: this route is never reached: "r" matches the same`},
		},
		{"merging", beside("<<: {a: 1}"), []string{`line 6: "<<" is not known here`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table, err := route.Parse([]byte(tt.text))
			var problems route.Problems
			if table != nil || !errors.As(err, &problems) {
				t.Fatalf("got %v, %v", table, err)
			}
			if len(problems) != len(tt.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(problems), len(tt.want), err)
			}
			for i, want := range tt.want {
				if got := problems[i].String(); !strings.HasPrefix(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestEveryProblemOfAFileIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := route.Parse([]byte(`routes:
  - name: one
    match: {intent: a}
    target: {capability: Echo, strategy: best}
  - name: two
    match: {intend: a}
    target:
      capability: echo
      split:
        - {version: 2.x, percent: 70}
        - {version: 3.x, percent: 40}
    colour: red
`))
	want := `line 4: capability takes lower-case letters, digits and _, a letter first, at most 64
line 4: "best" is not a strategy: there are score, least_concurrency, round_robin, weighted_random, sticky
line 6: "intend" is not known here; match has intent, required_tags, tenant
line 6: match needs an intent, required_tags or a tenant
line 10: the shares of split are 110 percent together; 100 is the most
line 12: "colour" is not known here; a route has fallback, match, name, target, timeouts, weights`
	if err == nil {
		t.Fatal("the file is taken")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestRoutesToCapabilitiesThatDoNotExistAreNamed(t *testing.T) {
	t.Parallel()
	table := parse(t, `routes:
  - name: one
    match: {intent: a}
    target:
      strategy: score
      capability: search_web
    fallback: {capability: echo}
  - name: two
    match: {intent: b}
    target: {capability: echo}
    fallback:
      capability: count_words
`)
	want := `line 6: search_web is not a capability; did you mean web_search?
line 12: count_words is not a capability; did you mean text_stats?`
	err := table.Check(words(t))
	if err == nil {
		t.Fatal("no problem is named")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAFileIsBounded(t *testing.T) {
	t.Parallel()
	many := "routes:\n" + strings.Repeat("- {}\n", route.MaxRoutes+1)
	tests := map[string]string{
		strings.Repeat("#", route.MaxBytes+1): "line 1: the file has more than 4 MiB",
		many:                                  "line 2: routes has 1001 items; 1000 is the limit",
	}
	for text, want := range tests {
		if _, err := route.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(house))
	f.Add([]byte(inTarget("split: [{version: 2.x, percent: 10}]")))
	f.Add([]byte(`{"routes": [{"name": "r", "match": {"tenant": "a"}, "target": {"capability": "echo"}, "weights": {"cost": 1}}]}`))
	f.Add([]byte("routes: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := route.Parse(data)
		if (table == nil) == (err == nil) {
			t.Fatalf("got %v and %v", table, err)
		}
		var problems route.Problems
		if err != nil && (!errors.As(err, &problems) || len(problems) == 0) {
			t.Fatalf("an error without problems: %v", err)
		}
		for _, r := range table.Routes() {
			if r.Name == "" || r.Target.Capability == "" {
				t.Fatalf("half a route was taken: %+v", r)
			}
		}
	})
}
