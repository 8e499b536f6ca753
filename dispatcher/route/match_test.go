package route_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

const house = `
routes:
  - name: quick reviews
    match: {intent: Code Review, required_tags: [quick]}
    target: {capability: code_review_lite, strategy: least_concurrency}
    fallback: {capability: code_review}
    timeouts: {timeout_ms: 5000, run_timeout_ms: 30000}
  - name: acme reads
    match: {intent: summarize, tenant: acme}
    target: {capability: summarize, strategy: sticky, sticky_by: customer, min_version: 1.2.0}
    weights: frugal
  - name: minutes
    match: {intent: Protokoll schreiben}
    target: {capability: summarize}
  - name: night shift
    match: {required_tags: [night, cheap]}
    target: {capability: summarize, strategy: round_robin}
`

// summary is what the tests look at of a match.
func summary(m route.Match) string {
	return strings.Join([]string{string(m.Rule), m.Route, m.Capability}, "|")
}

func TestWhereMessagesLead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		message schemas.ReachMessage
		want    string
	}{
		{"a capability", schemas.ReachMessage{Capability: "translate"}, "capability||translate"},
		{"an intent that is an id", schemas.ReachMessage{Intent: "translate"}, "capability||translate"},
		{"an alias", schemas.ReachMessage{Intent: "count_words"}, "alias||text_stats"},
		{"camel case", schemas.ReachMessage{Intent: "webSearch"}, "capability||web_search"},
		{"hyphens and capitals", schemas.ReachMessage{Intent: "Web-Search"}, "capability||web_search"},
		{"blanks", schemas.ReachMessage{Intent: "  web search "}, "capability||web_search"},
		{"full width", schemas.ReachMessage{Intent: "ｗｅｂ＿ｓｅａｒｃｈ"}, "capability||web_search"},
		{"an intent in other letters", schemas.ReachMessage{Intent: "protokoll-schreiben"}, "route|minutes|summarize"},
		{"an intent in camel case", schemas.ReachMessage{Intent: "ProtokollSchreiben"}, "route|minutes|summarize"},
		{
			"a tag that is required",
			schemas.ReachMessage{Intent: "code_review", Tags: []string{"a", "quick"}},
			"route|quick reviews|code_review_lite",
		},
		{"the tag is missing", schemas.ReachMessage{Intent: "code_review", Tags: []string{"a"}}, "capability||code_review"},
		{"the tenant's own route", schemas.ReachMessage{Intent: "summarize", Tenant: "acme"}, "route|acme reads|summarize"},
		{"another tenant", schemas.ReachMessage{Intent: "summarize", Tenant: "other"}, "capability||summarize"},
		{
			"the first of two routes that match",
			schemas.ReachMessage{Intent: "protokoll schreiben", Tags: []string{"night", "cheap"}},
			"route|minutes|summarize",
		},
		{
			"a route for whatever is wanted",
			schemas.ReachMessage{Intent: "dream", Tags: []string{"cheap", "night"}},
			"route|night shift|summarize",
		},
		{
			"a capability is a contract: no route leads away from it",
			schemas.ReachMessage{Capability: "code_review", Tags: []string{"quick"}},
			"capability||code_review",
		},
		{
			"but a route that leads there counts",
			schemas.ReachMessage{Capability: "summarize", Tenant: "acme"},
			"route|acme reads|summarize",
		},
		{
			"also one for whatever is wanted",
			schemas.ReachMessage{Capability: "summarize", Tags: []string{"cheap", "night"}},
			"route|night shift|summarize",
		},
	}
	table := parse(t, house)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, summary(match(t, table, tt.message))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARouteNamesTheAliasOrTheCapabilityWithAllItsAliases(t *testing.T) {
	t.Parallel()
	tests := []struct{ routed, intent, want string }{
		{"text_stats", "text_stats", "route|r|echo"},
		{"text_stats", "count-words", "route|r|echo"},
		{"count words", "count_words", "route|r|echo"},
		{"count words", "text_stats", "capability||text_stats"},
	}
	for _, tt := range tests {
		t.Run(tt.routed+" for "+tt.intent, func(t *testing.T) {
			t.Parallel()
			table := parse(t, "routes: [{name: r, match: {intent: "+tt.routed+"}, target: {capability: echo}}]")
			if diff := cmp.Diff(tt.want, summary(match(t, table, schemas.ReachMessage{Intent: tt.intent}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARouteSaysHow(t *testing.T) {
	t.Parallel()
	table := parse(t, house)
	got := match(t, table, schemas.ReachMessage{
		Intent: "summarize", Tenant: "acme", Version: "<3", MsgID: "m-1", Metadata: []byte(`{"customer": 7}`),
	})
	frugal := score.Frugal
	want := route.Match{
		Rule: route.ByRoute, Route: "acme reads", Capability: "summarize", Strategy: score.Sticky, Weights: &frugal, Sticky: "7",
	}
	versions := got.Versions
	got.Versions = route.Versions{}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(route.Versions{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(">=1.2.0; <3", versions.String()); diff != "" {
		t.Error(diff)
	}
	quick := match(t, table, schemas.ReachMessage{Intent: "code_review", Tags: []string{"quick"}})
	if quick.Timeout != 5*time.Second || quick.RunTimeout != 30*time.Second || quick.Fallback.Capability != "code_review" {
		t.Errorf("got %+v", quick)
	}
}

func TestNoMatchSaysWhatWouldBeNear(t *testing.T) {
	t.Parallel()
	stale := parse(t, "routes: [{name: old, match: {intent: dream}, target: {capability: sumarize}}]")
	tests := []struct {
		name    string
		table   *route.Table
		message schemas.ReachMessage
		code    schemas.Code
		want    string
	}{
		{"an intent", nil, schemas.ReachMessage{Intent: "search_web"}, schemas.NotFound, "web_search"},
		{"a capability", nil, schemas.ReachMessage{Capability: "sumarize"}, schemas.NotFound, "summarize"},
		{"a capability is no alias", nil, schemas.ReachMessage{Capability: "count_words"}, schemas.NotFound, "text_stats"},
		{"a route to what is there no more", stale, schemas.ReachMessage{Intent: "dream"}, schemas.NotFound, "summarize"},
		{"a range that is none", nil, schemas.ReachMessage{Intent: "echo", Version: "newest"}, schemas.InvalidArgument, ">=1.2.0, <2"},
		{"a version that is none", nil, schemas.ReachMessage{Intent: "echo", MinVersion: "new"}, schemas.InvalidArgument, ">=1.2.0, <2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.table.Match(&tt.message, words(t))
			if err == nil || err.Code != tt.code || !strings.Contains(err.Message, tt.want) {
				t.Errorf("got %v, want %s with %s", err, tt.code, tt.want)
			}
		})
	}
}

func TestATableWithoutRoutesIsFine(t *testing.T) {
	t.Parallel()
	for _, table := range []*route.Table{nil, parse(t, "routes: []"), parse(t, "routes:")} {
		if got := summary(match(t, table, schemas.ReachMessage{Intent: "echo"})); got != "capability||echo" {
			t.Errorf("got %s", got)
		}
		if len(table.Routes()) != 0 || table.Check(words(t)) != nil {
			t.Error("there are routes, or problems with them")
		}
	}
}

func TestTheStickyKeyIsAMemberOfTheMetadataElseTheMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		message schemas.ReachMessage
		want    string
	}{
		{"a text", schemas.ReachMessage{Metadata: []byte(`{"a": {"session_id": 1}, "session_id": "s-\u0031"}`), MsgID: "m"}, "s-1"},
		{"a number, as it was written", schemas.ReachMessage{Metadata: []byte(`{"session_id": 1.0}`), MsgID: "m"}, "1.0"},
		{"something else", schemas.ReachMessage{Metadata: []byte(`{"session_id": ["s-1"]}`), MsgID: "m"}, "m"},
		{"nothing", schemas.ReachMessage{Metadata: []byte(`{"session_id": null}`), MsgID: "m"}, "m"},
		{"an empty text", schemas.ReachMessage{Metadata: []byte(`{"session_id": ""}`), MsgID: "m"}, "m"},
		{"no such member", schemas.ReachMessage{Metadata: []byte(`{}`), MsgID: "m"}, "m"},
		{"no object", schemas.ReachMessage{Metadata: []byte(`[`), MsgID: "m"}, "m"},
		{"no metadata", schemas.ReachMessage{MsgID: "m", TaskID: "t"}, "m"},
		{"no msg_id", schemas.ReachMessage{TaskID: "t"}, "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := route.StickyKey(&tt.message, route.DefaultStickyBy); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestALongStickyKeyIsKeptShort(t *testing.T) {
	t.Parallel()
	key := func(last string) string {
		m := schemas.ReachMessage{Metadata: []byte(`{"session_id": "` + strings.Repeat("s", 10_000) + last + `"}`), MsgID: "m"}
		return route.StickyKey(&m, route.DefaultStickyBy)
	}
	if a, b := key("a"), key("b"); len(a) > 64 || a != key("a") || a == b {
		t.Errorf("got %q and %q, want two short keys", a, b)
	}
}

// canary is a table with one split.
func canary(t testing.TB, name, split string) *route.Table {
	return parse(t, fmt.Sprintf("routes: [{name: %s, match: {intent: echo}, target: {capability: echo, split: [%s]}}]", name, split))
}

func TestAVersionGetsItsShareWhateverTheMessagesAreCalled(t *testing.T) {
	t.Parallel()
	dict := words(t)
	rapid.Check(t, func(r *rapid.T) {
		percent := rapid.IntRange(0, 100).Draw(r, "percent")
		prefix := rapid.StringMatching(`[a-z]{0,8}`).Draw(r, "prefix")
		name := rapid.StringMatching(`[a-z]{1,8}`).Draw(r, "name")
		table := canary(t, "x"+name, fmt.Sprintf("{version: 2.x, percent: %d}", percent))
		const messages, chance = 4000, 4. // five standard deviations of a half
		got := 0
		for n := range messages {
			m := schemas.ReachMessage{Intent: "echo", MsgID: fmt.Sprint(prefix, n)}
			found, err := table.Match(&m, dict)
			if err != nil {
				r.Fatal(err)
			}
			if found.Share == "2.x" {
				got++
			}
		}
		if share := float64(got) / messages * 100; math.Abs(share-float64(percent)) > chance {
			r.Fatalf("%d percent were asked for, %.2f are sent", percent, share)
		}
	})
}

func TestTenPercentAreTenPercentWithinAPoint(t *testing.T) {
	t.Parallel()
	table := canary(t, "new-model", "{version: 2.x, percent: 10}")
	dict, got := words(t), 0
	for n := range 10_000 {
		m := schemas.ReachMessage{Capability: "echo", MsgID: fmt.Sprint("msg-", n)}
		if found, _ := table.Match(&m, dict); found.Share == "2.x" {
			got++
		}
	}
	if got < 900 || got > 1100 {
		t.Errorf("%d of 10,000 went to the canary", got)
	}
}

func TestASplitTellsVersionsApart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, split string
		want        map[string]string // what each share's versions are
	}{
		{"a canary, and all other versions", "{version: 2.x, percent: 10}", map[string]string{"2.x": "2.x", "": "not 2.x"}},
		{
			"three parts", `{version: 2.x, percent: 30}, {version: ">=3, <4", percent: 30}`,
			map[string]string{"2.x": "2.x", ">=3, <4": ">=3 <4", "": "not 2.x; not >=3 <4"},
		},
		{
			"nothing is left over", "{version: 1.x, percent: 50}, {version: 2.x, percent: 50}",
			map[string]string{"1.x": "1.x", "2.x": "2.x"},
		},
		{"a canary that is held back", "{version: 2.x, percent: 0}", map[string]string{"": "not 2.x"}},
		{"everything", "{version: 2.x, percent: 100}", map[string]string{"2.x": "2.x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table, dict, got := canary(t, "r", tt.split), words(t), make(map[string]string)
			for n := range 500 {
				found, err := table.Match(&schemas.ReachMessage{Intent: "echo", MsgID: fmt.Sprint(n)}, dict)
				if err != nil {
					t.Fatal(err)
				}
				got[found.Share] = found.Within.String()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAKeyKeepsItsShareAndAShareThatGrowsTakesNobodyOut(t *testing.T) {
	t.Parallel()
	dict := words(t)
	in := func(percent int, session string) bool {
		table := canary(t, "r", fmt.Sprintf("{version: 2.x, percent: %d}", percent))
		m := schemas.ReachMessage{Intent: "echo", MsgID: fmt.Sprint(percent), Metadata: []byte(`{"session_id":"` + session + `"}`)}
		found, err := table.Match(&m, dict)
		if err != nil {
			t.Fatal(err)
		}
		return found.Share == "2.x"
	}
	for n := range 200 {
		session := fmt.Sprint("s-", n)
		if small, large := in(10, session), in(40, session); small && !large {
			t.Fatalf("%s is in a tenth, and not in four", session)
		}
	}
}

func TestVersionsAreText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		in, out []string
	}{
		{"", []string{"0.0.1", "2.0.0-rc.1"}, nil},
		{"1.x", []string{"1.9.0"}, []string{"2.0.0"}},
		{"1.x; not >=1.4", []string{"1.3.9"}, []string{"1.4.0", "2.0.0"}},
		{"not 2.x; not 3.x", []string{"1.0.0", "4.0.0"}, []string{"2.1.0", "3.0.0"}},
		{">=1 <2 || 3.x; not 1.5.x", []string{"1.4.0", "3.1.0"}, []string{"1.5.1", "2.0.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			v, err := route.ParseVersions(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if v.String() != tt.text || v.All() != (tt.text == "") {
				t.Errorf("got %q (all: %v)", v, v.All())
			}
			for _, text := range tt.in {
				if !v.Check(semver.MustParse(text)) {
					t.Errorf("%s is not in it", text)
				}
			}
			for _, text := range tt.out {
				if v.Check(semver.MustParse(text)) {
					t.Errorf("%s is in it", text)
				}
			}
		})
	}
	if _, err := route.ParseVersions("1.x; not newest"); err == nil || !strings.Contains(err.Error(), "newest") {
		t.Errorf("got %v", err)
	}
}

func TestVersionsAreARangeForTheFilters(t *testing.T) {
	t.Parallel()
	found := match(t, canary(t, "r", "{version: 2.x, percent: 100}"), schemas.ReachMessage{Intent: "echo"})
	c := score.Candidate{Standing: score.Standing{State: schemas.AgentOnline, Offers: true, Version: semver.MustParse("1.0.0")}}
	if why, _ := score.Filter(&c, &score.Want{Versions: []score.Versions{found.Within}}); why != score.WhyVersion {
		t.Errorf("an agent of version 1 is left out for %q", why)
	}
}

func BenchmarkMatch(b *testing.B) {
	var text strings.Builder
	text.WriteString("routes:\n")
	for n := range 100 {
		fmt.Fprintf(&text, "- {name: r%d, match: {intent: intent %d}, ", n, n)
		text.WriteString("target: {capability: echo, split: [{version: 2.x, percent: 10}]}}\n")
	}
	table, dict := parse(b, text.String()), words(b)
	m := schemas.ReachMessage{Intent: "Intent-99", MsgID: "m", Metadata: []byte(`{"session_id":"s-1"}`)}
	b.ReportAllocs()
	for range b.N {
		if _, err := table.Match(&m, dict); err != nil {
			b.Fatal(err)
		}
	}
}
