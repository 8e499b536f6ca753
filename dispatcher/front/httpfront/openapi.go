package httpfront

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// examples are bodies as the documents show them.
//
//go:embed examples/*.json
var examples embed.FS

func example(name string) json.RawMessage {
	b, err := examples.ReadFile(path.Join("examples", name+".json"))
	if err != nil {
		panic(err) // a name in the table of operations that was never a file
	}
	return b
}

// operation is a row of the table as huma takes it.
func (s *server) operation(id string) huma.Operation {
	row := operations[slices.IndexFunc(operations, func(o operation) bool { return o.id == id })]
	op := huma.Operation{
		OperationID: row.id, Method: row.method, Path: row.path, Tags: []string{row.tag}, Summary: row.summary, Description: row.text,
		DefaultStatus: row.success[0].status, Responses: map[string]*huma.Response{},
	}
	for _, answer := range row.success {
		op.Responses[strconv.Itoa(answer.status)] = &huma.Response{Description: answer.text, Content: s.media(jsonType, answer.content)}
	}
	if row.streams {
		op.Responses["200"].Content = s.withEvents(op.Responses["200"].Content)
	}
	for _, status := range slices.Concat(row.errors, commonErrors) {
		op.Responses[strconv.Itoa(status)] = s.errorResponse(status)
		if row.short {
			op.Responses[strconv.Itoa(status)].Content[jsonType] = &huma.MediaType{
				Schema: s.registry().Schema(reflect.TypeFor[ShortAnswer](), true, ""),
			}
		}
	}
	if row.body != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: s.media(jsonType, row.body)}
	}
	return op
}

func (s *server) media(mediaType string, c *content) map[string]*huma.MediaType {
	if c == nil {
		return nil
	}
	media := &huma.MediaType{Schema: s.registry().Schema(c.of, true, "")}
	if c.example != "" {
		media.Example = example(c.example)
	}
	return map[string]*huma.MediaType{mediaType: media}
}

// withEvents adds a stream of events to what an answer may be.
func (s *server) withEvents(content map[string]*huma.MediaType) map[string]*huma.MediaType {
	if content == nil {
		content = map[string]*huma.MediaType{}
	}
	content[eventStreamType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events."}}
	return content
}

func (s *server) registry() huma.Registry { return s.api.OpenAPI().Components.Schemas }

// errorResponse documents a status of an error, with an example.
func (s *server) errorResponse(status int) *huma.Response {
	about := problemTexts[status]
	response := &huma.Response{Description: about.text, Content: map[string]*huma.MediaType{problemType: {
		Schema:  s.registry().Schema(reflect.TypeFor[problem](), true, ""),
		Example: json.RawMessage(schemas.MustEncode(newProblem(about.example))),
	}}}
	if header := newProblem(about.example).GetHeaders().Get("Retry-After"); header != "" {
		response.Headers = map[string]*huma.Param{"Retry-After": {
			Description: "Seconds after which it is worth trying again.", Schema: &huma.Schema{Type: huma.TypeInteger},
		}}
	}
	return response
}

// humaSchemas tells huma of the types that it cannot read itself.
func humaSchemas(registry huma.Registry) {
	for wire, shown := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[schemas.Payload]():          reflect.TypeFor[anyJSON](),
		reflect.TypeFor[jsontext.Value]():           reflect.TypeFor[anyJSON](),
		reflect.TypeFor[schemas.Time]():             reflect.TypeFor[moment](),
		reflect.TypeFor[schemas.Code]():             reflect.TypeFor[code](),
		reflect.TypeFor[schemas.State]():            reflect.TypeFor[state](),
		reflect.TypeFor[schemas.Phase]():            reflect.TypeFor[phase](),
		reflect.TypeFor[schemas.CallbackState]():    reflect.TypeFor[callbackState](),
		reflect.TypeFor[schemas.ScheduleState]():    reflect.TypeFor[scheduleState](),
		reflect.TypeFor[schemas.MissedRuns]():       reflect.TypeFor[missedRuns](),
		reflect.TypeFor[schemas.AgentState]():       reflect.TypeFor[agentState](),
		reflect.TypeFor[schemas.ResponseMode]():     reflect.TypeFor[responseMode](),
		reflect.TypeFor[schemas.QualityOfService](): reflect.TypeFor[qualityOfService](),
		reflect.TypeFor[schemas.Assignment]():       reflect.TypeFor[anyJSON](), // the house's own: never shown
	} {
		registry.RegisterTypeAlias(wire, shown)
	}
}

// The schemas of single values.
type (
	anyJSON          struct{}
	moment           struct{}
	code             struct{}
	state            struct{}
	phase            struct{}
	callbackState    struct{}
	scheduleState    struct{}
	missedRuns       struct{}
	agentState       struct{}
	responseMode     struct{}
	qualityOfService struct{}
)

func (anyJSON) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}
func (code) Schema(huma.Registry) *huma.Schema { return oneOf(schemas.Codes...) }
func (state) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.StateSubmitted, schemas.StateWorking, schemas.StateInputRequired, schemas.StateAuthRequired,
		schemas.StateCompleted, schemas.StateFailed, schemas.StateCanceled, schemas.StateRejected)
}

func (phase) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.PhaseScheduled, schemas.PhaseQueued, schemas.PhaseAssigned, schemas.PhaseBegun, schemas.PhaseDone)
}

func (callbackState) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.CallbackWaiting, schemas.CallbackDelivered, schemas.CallbackFailed)
}

func (scheduleState) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.ScheduleActive, schemas.SchedulePaused, schemas.ScheduleFailing)
}

func (missedRuns) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.MissedSkip, schemas.MissedOnce, schemas.MissedAll)
}

func (agentState) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.AgentPending, schemas.AgentOnline, schemas.AgentDegraded, schemas.AgentDraining, schemas.AgentOffline)
}

func (responseMode) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.ModeSync, schemas.ModeAsync, schemas.ModeStream)
}

func (qualityOfService) Schema(huma.Registry) *huma.Schema {
	return oneOf(schemas.QoSRealtime, schemas.QoSStandard, schemas.QoSComplete)
}

func oneOf[S ~string](values ...S) *huma.Schema {
	schema := &huma.Schema{Type: huma.TypeString}
	for _, value := range values {
		schema.Enum = append(schema.Enum, string(value))
	}
	return schema
}

// describe makes of the schemas that huma derived from our types the ones that we publish.
func describe(components map[string]*huma.Schema) error {
	for name, schema := range components {
		delete(schema.Properties, "Unknown") // where members are kept that a type does not know
		for _, own := range houseFields[name] {
			delete(schema.Properties, own)
		}
		schema.Required = slices.DeleteFunc(schema.Required, func(field string) bool {
			return field == "v" || schema.Properties[field] == nil
		})
		for field, property := range schema.Properties {
			text, found := fieldTexts[name][field]
			if !found && field != "v" {
				return fmt.Errorf("%s.%s has no description", name, field)
			}
			property.Nullable = false
			property.Description = text
		}
		if v := schema.Properties["v"]; v != nil {
			v.Description = "The wire version; 1 when absent."
		}
		schema.Description = typeTexts[name]
		schema.PrecomputeMessages()
	}
	return nil
}

// documentRoutes renders the documents once, and serves them as they are.
func (s *server) documentRoutes() error {
	api := s.api.OpenAPI()
	if err := describe(api.Components.Schemas.Map()); err != nil {
		return err
	}
	api.Info.Description = aboutText
	for _, tag := range []string{tagTasks, tagAgents, tagWork, tagShort, tagCapabilities, tagRoutes, tagSchedules, tagHealth} {
		api.Tags = append(api.Tags, &huma.Tag{Name: tag, Description: tagTexts[tag]})
	}
	document, err := json.Marshal(api)
	if err != nil {
		return fmt.Errorf("encode OpenAPI: %w", err)
	}
	page, err := renderPage(api)
	if err != nil {
		return err
	}
	s.router.Get("/openapi.json", serve(jsonType, document, nil))
	s.router.Get("/docs", serve("text/html; charset=utf-8", page, http.Header{"Content-Security-Policy": {pagePolicy}}))
	s.router.Get("/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/docs", http.StatusFound) })
	return nil
}

func serve(contentType string, body []byte, header http.Header) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		_, _ = w.Write(body)
	}
}
