package route_test

import (
	"fmt"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func ExampleParse() {
	_, err := route.Parse([]byte("routes:\n- name: quick\n  match: {intent: review}\n  targte: {capability: code_review_lite}\n"))
	fmt.Println(err)
	// Output:
	// line 2: a route needs target
	// line 4: "targte" is not known here; a route has fallback, match, name, target, timeouts, weights
}

func ExampleTable_Match() {
	table, err := route.Parse([]byte(`
routes:
  - name: quick reviews
    match: {intent: code review, required_tags: [quick]}
    target: {capability: code_review_lite, strategy: least_concurrency}
    fallback: {capability: code_review}
`))
	if err != nil {
		panic(err)
	}
	words, err := dictionary.New(dictionary.Starter())
	if err != nil {
		panic(err)
	}
	for _, message := range []schemas.ReachMessage{
		{Intent: "CodeReview", Tags: []string{"quick"}},
		{Intent: "CodeReview"},
		{Intent: "code_rewiev"},
	} {
		match, err := table.Match(&message, words)
		if err != nil {
			fmt.Println(err.Message)
			continue
		}
		fmt.Printf("by %s: %s\n", match.Rule, match.Capability)
	}
	// Output:
	// by route: code_review_lite
	// by capability: code_review
	// "code_rewiev" is not a capability; did you mean "code_review"? (reach capability list)
}
