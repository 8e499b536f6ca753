package httpfront

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The docs page is rendered once, on our side, from the OpenAPI document: one page without a script, that works without a network.

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
)

var pageTemplate = template.Must(template.New("docs").Parse(pageHTML))

// pagePolicy lets the page have its own style, and nothing else.
var pagePolicy = "default-src 'none'; style-src 'sha256-" + styleHash() +
	"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func styleHash() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return base64.StdEncoding.EncodeToString(sum[:])
}

type (
	page struct {
		*huma.OpenAPI
		Style  template.CSS
		About  []string
		Groups []pageGroup
		Types  []pageType
	}
	pageGroup struct {
		Name, Text string
		Operations []pageOperation
	}
	pageOperation struct {
		ID, Method, Path, Summary string
		Text                      []pageText
		Parameters                []*huma.Param
		Body                      *pageBody
		Answers                   []pageAnswer
	}
	pageText struct {
		Words string
		Code  bool
	}
	pageBody   struct{ Type, Example string }
	pageAnswer struct {
		Status, Text string
		Body         *pageBody
	}
	pageType struct {
		Name, Text string
		Fields     []pageField
	}
	pageField struct {
		Name, Type, Prefix, Ref, Text, Values string
		Required                              bool
	}
)

// renderPage shows everything that the document says.
func renderPage(api *huma.OpenAPI) ([]byte, error) {
	p := page{OpenAPI: api, Style: template.CSS(pageCSS), About: strings.Split(strings.ReplaceAll(aboutText, "`", ""), "\n\n")}
	for _, tag := range api.Tags {
		p.Groups = append(p.Groups, pageGroup{tag.Name, tag.Description, pageOperations(api, tag.Name)})
	}
	for _, name := range slices.Sorted(maps.Keys(api.Components.Schemas.Map())) {
		p.Types = append(p.Types, newPageType(name, api.Components.Schemas.Map()[name]))
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render docs page: %w", err)
	}
	return out.Bytes(), nil
}

func pageOperations(api *huma.OpenAPI, tag string) []pageOperation {
	var shown []pageOperation
	for _, row := range operations {
		if row.tag != tag {
			continue
		}
		op := operationOf(api.Paths[row.path], row.method)
		shown = append(shown, pageOperation{
			ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Text: textWithCode(op.Description),
			Parameters: op.Parameters, Body: requestOf(op), Answers: answersOf(op),
		})
	}
	return shown
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodPost:
		return item.Post
	case http.MethodDelete:
		return item.Delete
	}
	return item.Get
}

func requestOf(op *huma.Operation) *pageBody {
	if op.RequestBody == nil {
		return nil
	}
	return bodyOf(op.RequestBody.Content)
}

func answersOf(op *huma.Operation) []pageAnswer {
	var answers []pageAnswer
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		response := op.Responses[status]
		answers = append(answers, pageAnswer{status, response.Description, bodyOf(response.Content)})
	}
	return answers
}

func bodyOf(content map[string]*huma.MediaType) *pageBody {
	for _, media := range content {
		if media.Schema.Ref == "" {
			continue // events, which their operation describes
		}
		body := &pageBody{Type: path.Base(media.Schema.Ref)}
		if raw, ok := media.Example.(json.RawMessage); ok {
			body.Example = pretty(raw)
		}
		return body
	}
	return nil
}

func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

func newPageType(name string, schema *huma.Schema) pageType {
	t := pageType{Name: name, Text: schema.Description}
	for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
		t.Fields = append(t.Fields, newPageField(field, schema))
	}
	return t
}

func newPageField(name string, of *huma.Schema) pageField {
	property := of.Properties[name]
	field := pageField{Name: name, Text: property.Description, Required: slices.Contains(of.Required, name), Type: property.Type}
	inner := property
	if property.Items != nil {
		inner, field.Prefix = property.Items, "list of "
	}
	if inner.Ref != "" {
		field.Ref = path.Base(inner.Ref)
	} else if property.Items != nil {
		field.Type = field.Prefix + inner.Type
	}
	if field.Type == "" {
		field.Type = "any JSON"
	}
	var values []string
	for _, value := range inner.Enum {
		values = append(values, fmt.Sprint(value))
	}
	field.Values = strings.Join(values, ", ")
	return field
}

// textWithCode takes a text apart at its backquotes.
func textWithCode(text string) []pageText {
	var parts []pageText
	for i, words := range strings.Split(text, "`") {
		parts = append(parts, pageText{Words: words, Code: i%2 == 1})
	}
	return parts
}
