package schemas_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// wireTypes are the Go types behind the JSON Schema files.
var wireTypes = map[string]reflect.Type{
	"add_schedule":     reflect.TypeFor[schemas.AddSchedule](),
	"schedule":         reflect.TypeFor[schemas.Schedule](),
	"schedule_page":    reflect.TypeFor[schemas.SchedulePage](),
	"schedule_query":   reflect.TypeFor[schemas.ScheduleQuery](),
	"schedule_ref":     reflect.TypeFor[schemas.ScheduleRef](),
	"add_capability":   reflect.TypeFor[schemas.AddCapability](),
	"agent":            reflect.TypeFor[schemas.Agent](),
	"agent_page":       reflect.TypeFor[schemas.AgentPage](),
	"agent_query":      reflect.TypeFor[schemas.AgentQuery](),
	"agent_ref":        reflect.TypeFor[schemas.AgentRef](),
	"answer":           reflect.TypeFor[schemas.Answer](),
	"begin":            reflect.TypeFor[schemas.Begin](),
	"body_part":        reflect.TypeFor[schemas.BodyPart](),
	"capability":       reflect.TypeFor[schemas.Capability](),
	"capability_page":  reflect.TypeFor[schemas.CapabilityPage](),
	"capability_query": reflect.TypeFor[schemas.CapabilityQuery](),
	"capability_ref":   reflect.TypeFor[schemas.CapabilityRef](),
	"chunk":            reflect.TypeFor[schemas.Chunk](),
	"claim":            reflect.TypeFor[schemas.Claim](),
	"claimed":          reflect.TypeFor[schemas.Claimed](),
	"control":          reflect.TypeFor[schemas.Control](),
	"control_reply":    reflect.TypeFor[schemas.ControlReply](),
	"credit":           reflect.TypeFor[schemas.Credit](),
	"device_answer":    reflect.TypeFor[schemas.DeviceAnswer](),
	"device_beat":      reflect.TypeFor[schemas.DeviceBeat](),
	"device_receipt":   reflect.TypeFor[schemas.DeviceReceipt](),
	"device_stopped":   reflect.TypeFor[schemas.DeviceStopped](),
	"error":            reflect.TypeFor[schemas.Error](),
	"explanation":      reflect.TypeFor[schemas.Explanation](),
	"follow_ref":       reflect.TypeFor[schemas.FollowRef](),
	"handover":         reflect.TypeFor[schemas.Handover](),
	"heartbeat":        reflect.TypeFor[schemas.Heartbeat](),
	"heard":            reflect.TypeFor[schemas.Heard](),
	"notice":           reflect.TypeFor[schemas.Notice](),
	"pull":             reflect.TypeFor[schemas.Pull](),
	"pull_end":         reflect.TypeFor[schemas.PullEnd](),
	"reach_message":    reflect.TypeFor[schemas.ReachMessage](),
	"receipt":          reflect.TypeFor[schemas.Receipt](),
	"record":           reflect.TypeFor[schemas.Record](),
	"registered":       reflect.TypeFor[schemas.Registered](),
	"registration":     reflect.TypeFor[schemas.Registration](),
	"release":          reflect.TypeFor[schemas.Release](),
	"route_page":       reflect.TypeFor[schemas.RoutePage](),
	"result":           reflect.TypeFor[schemas.Result](),
	"task":             reflect.TypeFor[schemas.Task](),
	"task_page":        reflect.TypeFor[schemas.TaskPage](),
	"task_query":       reflect.TypeFor[schemas.TaskQuery](),
	"task_ref":         reflect.TypeFor[schemas.TaskRef](),
	"task_progress":    reflect.TypeFor[schemas.TaskProgress](),
	"trace":            reflect.TypeFor[schemas.Trace](),
}

func TestSchemaNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wireTypes)), schemas.SchemaNames()); diff != "" {
		t.Errorf("messages (-with a type +with a file):\n%s", diff)
	}
	if _, found := schemas.SchemaFile("../doc"); found {
		t.Error("a file outside the folder is given out")
	}
}

// Every file of testdata/wire is one message as it goes over the wire; the name up to "-" is its type.
func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/wire/*.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		seen[name] = true
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if violation := schemaOf(t, name).Check(text); violation != nil {
				t.Errorf("breaks its JSON Schema: %+v", violation)
			}
			message := newOf(wireTypes[name])
			if err := schemas.Accept(text, message); err != nil {
				t.Fatalf("accept: %v", err)
			}
			again, err := schemas.Encode(message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(canonical(t, text), canonical(t, again)); diff != "" {
				t.Errorf("encoded again (-want +got):\n%s", diff)
			}
		})
	}
	for name := range wireTypes {
		if !seen[name] {
			t.Errorf("%s has no golden message", name)
		}
	}
}

func newOf(typ reflect.Type) any { return reflect.New(typ).Interface() }

func schemaOf(t *testing.T, name string) *contract.Schema {
	t.Helper()
	file, found := schemas.SchemaFile(name)
	if !found {
		t.Fatalf("%s has no JSON Schema", name)
	}
	schema, err := contract.Compile(file)
	if err != nil {
		t.Fatalf("compile %s: %v", name, err)
	}
	return schema
}

// canonical sorts the members and indents; number literals stay as they are.
func canonical(t *testing.T, text []byte) string {
	t.Helper()
	form, err := schemas.Canonical(text)
	if err != nil {
		t.Fatal(err)
	}
	value := jsontext.Value(form)
	if err := value.Indent(); err != nil {
		t.Fatal(err)
	}
	return value.String()
}

// schemaFile is what the tests read of a JSON Schema.
type schemaFile struct {
	Schema               string                 `json:"$schema,omitzero"`
	Title                string                 `json:"title,omitzero"`
	Properties           map[string]schemaFile  `json:"properties,omitempty"`
	AdditionalProperties jsontext.Value         `json:"additionalProperties,omitzero"`
	Items                *schemaFile            `json:"items,omitzero"`
	AnyOf                []schemaFile           `json:"anyOf,omitempty"`
	Ref                  string                 `json:"$ref,omitzero"`
	Defs                 map[string]*schemaFile `json:"$defs,omitempty"`
}

func readSchema(t *testing.T, name string) *schemaFile {
	t.Helper()
	file, _ := schemas.SchemaFile(name)
	schema := new(schemaFile)
	if err := schemas.Decode(file, schema); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schema
}

func TestSchemaFilesNameTheFieldsOfTheirTypes(t *testing.T) {
	t.Parallel()
	for name, typ := range wireTypes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := readSchema(t, name)
			if schema.Schema != "https://json-schema.org/draft/2020-12/schema" || schema.Title != name {
				t.Errorf("$schema %q, title %q", schema.Schema, schema.Title)
			}
			compareFields(t, "", typ, schema, schema.Defs)
		})
	}
}

// compareFields walks a type and its schema side by side.
func compareFields(t *testing.T, at string, typ reflect.Type, schema *schemaFile, defs map[string]*schemaFile) {
	t.Helper()
	schema = resolve(schema, defs)
	switch {
	case typ.Kind() == reflect.Pointer:
		compareFields(t, at, typ.Elem(), schema, defs)
	case typ.Kind() == reflect.Slice && schema.Items != nil:
		compareFields(t, at+"/[]", typ.Elem(), schema.Items, defs)
	case typ.Kind() == reflect.Struct && typ != reflect.TypeFor[schemas.Time]():
		compareStruct(t, at, typ, schema, defs)
	}
}

func compareStruct(t *testing.T, at string, typ reflect.Type, schema *schemaFile, defs map[string]*schemaFile) {
	t.Helper()
	fields := jsonFields(typ)
	if typ == reflect.TypeFor[schemas.Offer]() {
		fields["name"] = reflect.TypeFor[string]() // read in place of id, never written
	}
	want, got := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(schema.Properties))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s at %q; the files in jsonschema name the fields of the types (-type +file):\n%s", typ, at, diff)
		return
	}
	for name, field := range fields {
		property := schema.Properties[name]
		compareFields(t, at+"/"+name, field, &property, defs)
	}
}

// resolve follows a reference, and picks the object where a schema allows it beside a shorter form.
func resolve(schema *schemaFile, defs map[string]*schemaFile) *schemaFile {
	if name, found := strings.CutPrefix(schema.Ref, "#/$defs/"); found {
		return resolve(defs[name], defs)
	}
	for i := range schema.AnyOf {
		if form := resolve(&schema.AnyOf[i], defs); schema.Properties == nil && form.Properties != nil {
			return form
		}
	}
	return schema
}

func jsonFields(typ reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type)
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			maps.Copy(fields, jsonFields(field.Type))
		case name != "":
			fields[name] = field.Type
		}
	}
	return fields
}

// What several files define under one name is the same everywhere, and the same as the message of that name.
func TestSchemaFilesAgree(t *testing.T) {
	t.Parallel()
	type definitions struct {
		Defs map[string]jsontext.Value `json:"$defs,omitempty"`
	}
	known, from := make(map[string]string), make(map[string]string)
	for _, name := range schemas.SchemaNames() {
		var file definitions
		text, _ := schemas.SchemaFile(name)
		if err := schemas.Decode(text, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for def, raw := range file.Defs {
			form := canonical(t, raw)
			if known[def] == "" {
				known[def], from[def] = form, name
			}
			if diff := cmp.Diff(known[def], form); diff != "" {
				t.Errorf("%s differs (-%s +%s):\n%s", def, from[def], name, diff)
			}
		}
	}
	for _, name := range schemas.SchemaNames() {
		if known[name] == "" {
			continue
		}
		if diff := cmp.Diff(known[name], canonical(t, bare(t, name))); diff != "" {
			t.Errorf("%s differs (-in %s +its file):\n%s", name, from[name], diff)
		}
	}
}

// bare is a file without what only the top of a file has.
func bare(t *testing.T, name string) []byte {
	t.Helper()
	text, _ := schemas.SchemaFile(name)
	members := make(map[string]jsontext.Value)
	if err := schemas.Decode(text, &members); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, top := range []string{"$schema", "title", "description", "$defs"} {
		delete(members, top)
	}
	return schemas.MustEncode(members)
}

func TestSchemaFilesAllowUnknownMembers(t *testing.T) {
	t.Parallel()
	for _, name := range schemas.SchemaNames() {
		text, _ := schemas.SchemaFile(name)
		for _, closed := range []string{`"additionalProperties": false`, "unevaluatedProperties"} {
			if strings.Contains(string(text), closed) {
				t.Errorf("%s refuses members that a newer release may send: %s", name, closed)
			}
		}
	}
}
