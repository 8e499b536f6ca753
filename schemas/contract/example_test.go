package contract_test

import (
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

func ExampleCompile() {
	schema, err := contract.Compile([]byte(`{"diff": "string", "rules": "array?"}`))
	fmt.Println(string(schema.Raw()), err)

	_, err = contract.Compile([]byte(`{"type": "object", "properties": {"a": {"$ref": "http://example.org/a.json"}}}`))
	fmt.Println(err)
	// Output:
	// {"properties":{"diff":{"type":"string"},"rules":{"type":"array"}},"required":["diff"],"type":"object"} <nil>
	// INVALID_ARGUMENT: the schema refers to something outside itself; only references that start with # are followed (at /properties/a/$ref)
}

func ExampleSchema_Check() {
	schema, _ := contract.Compile([]byte(`{"tags": "array"}`))
	violation := schema.Check([]byte(`{"tags": "notes"}`))
	fmt.Println(violation.Field, violation.Message)
	// Output: /tags must be an array
}

func ExampleSchema_CheckInput() {
	schema, _ := contract.Compile([]byte(`{"text": "string", "max_sentences": "integer?"}`))
	fmt.Println(schema.CheckInput("summarize", []byte(`{}`)).Message)
	fmt.Println(schema.CheckInput("summarize", []byte(`{"text": "Ships sail.", "max_sentences": "one"}`)).Message)
	fmt.Println(schema.CheckInput("summarize", []byte(`{"text": "Ships sail.", "max_sentences": 1}`)))
	// Output:
	// payload.text is required by summarize
	// payload.max_sentences must be an integer
	// <nil>
}

func ExampleSchema_CheckOutput() {
	schema, _ := contract.Compile([]byte(`{"summary": "string"}`))
	fmt.Println(schema.CheckOutput("summarize", []byte(`{"text": "Ships sail."}`)))
	// Output: INTERNAL: the agent broke its contract: result.summary is required by summarize
}

func ExampleBoth() {
	dictionary, _ := contract.Compile([]byte(`{"text": "string"}`))
	agent, _ := contract.Compile([]byte(`{"properties": {"text": {"maxLength": 5}}}`))
	both := contract.Both(dictionary, agent)
	fmt.Println(both.CheckInput("summarize", []byte(`{"text": "Ships sail."}`)).Message)
	// Output: payload.text must have at most 5 characters
}

func ExampleFingerprint() {
	a := contract.Fingerprint("summarize", schemas.Payload(`{"text": "Ships sail.", "n": 1}`), "standard", "")
	b := contract.Fingerprint("summarize", schemas.Payload(`{"n":1,"text":"Ships sail."}`), "", "")
	fmt.Println(a == b)
	// Output: true
}
