package httpfront_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
)

// document is what of OpenAPI the tests look at.
type document struct {
	OpenAPI    string                                    `json:"openapi"`
	Paths      map[string]map[string]documentedOperation `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
	}
}

type documentedOperation struct {
	OperationID, Summary, Description string
	Parameters                        []struct{ Name, In, Description string }
	RequestBody                       struct{ Content map[string]documentedBody }
	Responses                         map[string]struct {
		Description string
		Content     map[string]documentedBody
	}
}

type documentedBody struct {
	Schema struct {
		Ref string `json:"$ref"`
	}
	Example json.RawMessage
}

func (b *bench) document() (doc document, raw string) {
	b.t.Helper()
	raw = b.call(http.MethodGet, "/openapi.json", "").body
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		b.t.Fatal(err)
	}
	return doc, raw
}

func TestEveryRouteIsDocumented(t *testing.T) {
	t.Parallel()
	doc, _ := newBench(t).document()
	var documented, routed []string
	for path, operations := range doc.Paths {
		for method := range operations {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	for _, own := range []string{"/", "/docs", "/openapi.json"} { // the documents themselves
		documented = append(documented, "GET "+own)
	}
	routes := newHandler(t, fronttest.New()).(chi.Routes)
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed = append(routed, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(documented)
	slices.Sort(routed)
	if diff := cmp.Diff(routed, documented); diff != "" {
		t.Errorf("routes (-routed +documented)\n%s", diff)
	}
}

func TestOperationsAreWhollyDescribed(t *testing.T) {
	t.Parallel()
	doc, _ := newBench(t).document()
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI %s", doc.OpenAPI)
	}
	seen := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			if op.OperationID == "" || seen[op.OperationID] || op.Summary == "" || op.Description == "" {
				t.Errorf("%s %s: %+v", method, path, op)
			}
			seen[op.OperationID] = true
			for _, parameter := range op.Parameters {
				if parameter.Description == "" {
					t.Errorf("%s: parameter %s has no description", op.OperationID, parameter.Name)
				}
			}
			checkResponses(t, op)
		}
	}
}

// checkResponses wants a description of each answer, and an example problem of that very status for each error.
func checkResponses(t *testing.T, op documentedOperation) {
	t.Helper()
	for _, status := range []string{"500", "503"} {
		if _, found := op.Responses[status]; !found {
			t.Errorf("%s: %s is not documented", op.OperationID, status)
		}
	}
	for status, response := range op.Responses {
		if response.Description == "" {
			t.Errorf("%s: %s has no description", op.OperationID, status)
		}
		if status < "400" {
			continue
		}
		body := response.Content["application/problem+json"]
		if !strings.Contains(string(body.Example), `"status":`+status+`,`) || body.Schema.Ref != "#/components/schemas/Problem" {
			t.Errorf("%s: %s: %+v", op.OperationID, status, body)
		}
	}
}

func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	doc, raw := newBench(t).document()
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(raw, -1) {
		name, found := strings.CutPrefix(match[1], "#/components/schemas/")
		if _, known := doc.Components.Schemas[name]; !found || !known {
			t.Errorf("%s leads nowhere", match[1])
		}
		used[name] = true
	}
	for name, schema := range doc.Components.Schemas {
		if !used[name] || schema.Description == "" {
			t.Errorf("%s: used %v, description %q", name, used[name], schema.Description)
		}
		for field, property := range schema.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}

// house are the fields that the JSON Schemas have and that callers neither send nor see.
var houseFields = []string{"task_id", "payload_ref", "tenant", "attempt", "retry_of", "schedule", "submitted_at", "forget_at", "assignment", "hops"}

func TestTypesAgreeWithTheJSONSchemas(t *testing.T) {
	t.Parallel()
	doc, _ := newBench(t).document()
	for name, file := range map[string]string{
		"ReachMessage": "reach_message", "Task": "task", "TaskPage": "task_page", "Error": "error", "Trace": "trace",
		"Registration": "registration", "Registered": "registered", "Agent": "agent", "AgentPage": "agent_page",
		"Capability": "capability", "CapabilityPage": "capability_page", "AddCapability": "add_capability",
		"Schedule": "schedule", "SchedulePage": "schedule_page", "AddSchedule": "add_schedule",
	} {
		raw, found := schemas.SchemaFile(file)
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(raw, &schema); !found || err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want := slices.Sorted(maps.Keys(schema.Properties))
		if name == "ReachMessage" {
			want = slices.DeleteFunc(want, func(field string) bool { return slices.Contains(houseFields, field) })
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(doc.Components.Schemas[name].Properties))); diff != "" {
			t.Errorf("%s (-schema file +document)\n%s", name, diff)
		}
	}
}

func TestExamplesAreWhatTheySay(t *testing.T) {
	t.Parallel()
	types := map[string]any{
		"message": new(schemas.ReachMessage), "task": new(schemas.Task), "working": new(schemas.Task), "canceled": new(schemas.Task),
		"registration": new(schemas.Registration), "registered": new(schemas.Registered), "capability": new(schemas.AddCapability),
		"endpoint": new(httpfront.EndpointCard), "beat": new(httpfront.EndpointBeat), "invocation": new(httpfront.Invocation),
		"claim": new(schemas.Claim), "heartbeat": new(schemas.Heartbeat), "receipt": new(schemas.Receipt), "chunk": new(schemas.Chunk),
		"result": new(schemas.Result), "release": new(schemas.Release),
		"schedule": new(schemas.AddSchedule),
	}
	files, err := filepath.Glob("examples/*.json")
	if err != nil || len(files) != len(types) {
		t.Fatalf("%d examples, want %d: %v", len(files), len(types), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		into := types[strings.TrimSuffix(filepath.Base(file), ".json")]
		if err := schemas.Accept(raw, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if diff := cmp.Diff(members(t, raw), members(t, schemas.MustEncode(into))); diff != "" {
			t.Errorf("%s (-written +read and written again)\n%s", file, diff)
		}
	}
}

// members is an object without its version, which an example need not repeat, and without what stands for nothing.
func members(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	for _, nothing := range []string{"replace", "task_id", "sequence", "state", "in_flight", "queued", "partial", "chunks", "write_id"} {
		if value := object[nothing]; value == "" || value == 0.0 || value == false {
			delete(object, nothing)
		}
	}
	versionless(object)
	return object
}

func versionless(object map[string]any) {
	delete(object, "v")
	for _, member := range object {
		if inner, ok := member.(map[string]any); ok {
			versionless(inner)
		}
	}
}

func TestExamplesOfBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.house.On("summarize", fronttest.Script{})
	doc, _ := b.document()
	posted := 0
	for path, operations := range doc.Paths {
		body, found := operations["post"].RequestBody.Content["application/json"]
		if !found {
			continue
		}
		posted++
		id := fronttest.AgentID
		if strings.HasPrefix(path, "/v1/tasks/") {
			id = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"
		}
		path = strings.ReplaceAll(path, "{id}", id)
		if got := b.call(http.MethodPost, path, string(body.Example), "Reach-Token: 4711"); got.status >= 300 {
			t.Errorf("%s: status %d, body %s", path, got.status, got.body)
		}
	}
	if posted != 15 {
		t.Errorf("%d bodies", posted)
	}
}

func TestDocsPageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Version = "<img src=x>" })
	got := b.call(http.MethodGet, "/docs", "")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("status %d, header %v", got.status, got.header)
	}
	if !strings.Contains(got.body, "(OpenAPI 3.1.0)") || strings.Contains(got.body, "map[") {
		t.Error("the page says something else than the version of OpenAPI")
	}
	policy := got.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
	for _, foreign := range []string{"<script", "<img", "<link", "src=", "@import", "url(", "style=", `href="http`, "onerror="} {
		if strings.Contains(strings.ReplaceAll(got.body, "&lt;img src=x&gt;", ""), foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
	doc, _ := b.document()
	for path, operations := range doc.Paths {
		for method, op := range operations {
			want := fmt.Sprintf("<h3><b>%s</b> %s</h3>", strings.ToUpper(method), path)
			if !strings.Contains(got.body, want) || !strings.Contains(got.body, `id="`+op.OperationID+`"`) {
				t.Errorf("the page lacks %s", want)
			}
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(got.body, -1) {
		if !strings.Contains(got.body, `id="`+link[1]+`"`) {
			t.Errorf("the page links to #%s, which is not there", link[1])
		}
	}
	if home := b.call(http.MethodGet, "/", ""); home.status != http.StatusFound || home.header.Get("Location") != "/docs" {
		t.Errorf("/: status %d, Location %q", home.status, home.header.Get("Location"))
	}
}

func TestEveryAnswerHasTheTypeThatIsDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.house.On("summarize", fronttest.Script{})
	doc, _ := b.document()
	var right int
	for path, operations := range doc.Paths {
		for method, op := range operations {
			id := fronttest.AgentID
			if strings.HasPrefix(path, "/v1/tasks/") {
				id = b.task(b.call(http.MethodPost, "/v1/tasks?wait=10s", `{"capability":"summarize"}`)).TaskID
			}
			body := string(op.RequestBody.Content["application/json"].Example)
			got := b.call(strings.ToUpper(method), strings.NewReplacer("{id}", id, "{name}", "nightly").Replace(path), body, "Reach-Token: 4711")
			mediaType, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
			_, documented := op.Responses[fmt.Sprint(got.status)].Content[mediaType]
			if len(got.body) > 0 && !documented {
				t.Errorf("%s %s: status %d is of type %q", method, path, got.status, mediaType)
			}
			if got.status < 300 {
				right++
			}
		}
	}
	if right < 25 { // the order is by chance, and one of them removes what others look for
		t.Errorf("only %d operations went well", right)
	}
}
