package dictionary_test

import (
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func ExampleDictionary_Resolve() {
	d, _ := dictionary.New(dictionary.Starter())
	fmt.Println(d.Resolve("WebSearch"))
	fmt.Println(d.Resolve("count-words"))
	// Output:
	// web_search true
	// text_stats true
}

func ExampleDictionary_NotFound() {
	d, _ := dictionary.New(dictionary.Starter())
	fmt.Println(d.NotFound("summrize"))
	// Output: NOT_FOUND: "summrize" is not a capability; did you mean "summarize"? (reach capability list)
}

func ExampleDictionary_CheckRegistration() {
	d, _ := dictionary.New(dictionary.Starter())
	r := &schemas.Registration{AgentID: "laptop-1", Capabilities: []schemas.Offer{{ID: "search_web"}}}
	fmt.Println(d.CheckRegistration(r))
	// Output: INVALID_ARGUMENT: search_web is not a capability; did you mean web_search?
}

func ExampleDictionary_With() {
	d, _ := dictionary.New(dictionary.Starter())
	d, err := d.With(schemas.Capability{
		ID:           "license_check",
		InputSchema:  []byte(`{"diff": "string", "allowed": "array?"}`),
		OutputSchema: []byte(`{"findings": "array"}`),
		Aliases:      []string{"check-licenses"},
	})
	entry, found := d.Entry("license_check")
	fmt.Println(string(entry.OutputSchema), found, err)
	// Output: {"properties":{"findings":{"type":"array"}},"required":["findings"],"type":"object"} true <nil>
}

func ExampleNormalise() {
	fmt.Println(dictionary.Normalise("summarizeText"), dictionary.Normalise("Ｔｅｘｔ－Ｓｔａｔｓ"), dictionary.Normalise("PDF to HTML"))
	// Output: summarize_text text_stats pdf_to_html
}
