package main

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAnAgentWithoutANameIsCalledByWhereAndWhatItIs(t *testing.T) {
	t.Parallel()
	for want, transport := range map[string]workerfile.Transport{
		"my-box-server-everything":  {Command: []string{"npx", "-y", "@modelcontextprotocol/server-everything", "stdio"}},
		"my-box-stats-py":           {Command: []string{"/usr/bin/python3", "-u", "./stats.py"}},
		"my-box-env":                {Command: []string{"env"}},
		"my-box-127-0-0-1-9000-run": {Endpoint: "http://user:secret@127.0.0.1:9000/run"},
		"my-box-localhost-50051":    {Endpoint: "localhost:50051"},
		"my-box-llama3-2":           {Endpoint: "http://a/v1", Model: "llama3.2"},
		"my-box-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": {
			Command: []string{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		},
	} {
		got := idOf("My.Box", &transport)
		if err := schemas.CheckAgentID(got); got != want || err != nil {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}

func TestToolsThatAreNoCapabilityAreLeftOut(t *testing.T) {
	t.Parallel()
	kept, strangers := splitOffers([]schemas.Offer{{ID: "echo"}, {ID: "get-sum"}, {ID: "summarize"}}, map[string]jsontext.Value{"echo": nil, "summarize": nil})
	if diff := cmp.Diff([]schemas.Offer{{ID: "echo"}, {ID: "summarize"}}, kept); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"get-sum"}, strangers); diff != "" {
		t.Error(diff)
	}
}
