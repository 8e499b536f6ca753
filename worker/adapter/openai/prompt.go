package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// prompt makes the messages out of a payload.
type prompt struct{ system, user *template.Template }

// message is one of a conversation. Content is JSON: a text, or what a caller gave.
type message struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
}

func newPrompt(system, user string) (*prompt, error) {
	p := new(prompt)
	var err error
	if p.system, err = parse("system", system); err != nil {
		return nil, err
	}
	if p.user, err = parse("prompt", user); err != nil {
		return nil, err
	}
	return p, nil
}

// helpers are what templates can use besides text/template's own.
var helpers = template.FuncMap{"json": asJSON}

// parse is nil for an empty text.
func parse(name, text string) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	t, err := template.New(name).Funcs(helpers).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	return t, nil
}

// messages are what the model is told: a list of messages as JSON values.
func (p *prompt) messages(payload schemas.Payload) ([]jsontext.Value, error) {
	values, err := valuesOf(payload)
	if err != nil {
		return nil, err
	}
	var all []jsontext.Value
	if p.system != nil {
		text, err := fill(p.system, values)
		if err != nil {
			return nil, err
		}
		all = append(all, said("system", text))
	}
	if p.user == nil {
		return append(all, given(payload, values)...), nil
	}
	text, err := fill(p.user, values)
	if err != nil {
		return nil, err
	}
	return append(all, said("user", text)), nil
}

// given is a payload that has no template.
func given(payload schemas.Payload, values any) []jsontext.Value {
	if text, ok := values.(string); ok {
		return []jsontext.Value{said("user", text)}
	}
	var conversation struct {
		Messages []jsontext.Value `json:"messages"`
	}
	if schemas.Decode(payload, &conversation) == nil && len(conversation.Messages) > 0 {
		return conversation.Messages
	}
	return []jsontext.Value{said("user", string(schemas.MustEncode(payload)))}
}

func said(role, text string) jsontext.Value {
	return schemas.MustEncode(&message{role, quoted(text)})
}

// quoted is a text as JSON.
func quoted(text string) jsontext.Value {
	return schemas.MustEncode(strings.ToValidUTF8(text, "\uFFFD"))
}

// valuesOf is a payload as templates see it. Numbers stay as they were written.
func valuesOf(payload schemas.Payload) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var values any
	if err := dec.Decode(&values); err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	return values, nil
}

func fill(t *template.Template, values any) (string, error) {
	var out strings.Builder
	if err := t.Execute(absentIsNothing{&out}, values); err != nil {
		return "", fmt.Errorf("fill template: %w", err)
	}
	return out.String(), nil
}

// absentIsNothing writes nothing for a field that is absent or null, where text/template has words.
type absentIsNothing struct{ to io.Writer }

// Write sees each value of a template in one piece.
func (w absentIsNothing) Write(p []byte) (int, error) {
	if string(p) == "<no value>" {
		return len(p), nil
	}
	return w.to.Write(p)
}

// asJSON is a value in one line of JSON, without marks for HTML.
func asJSON(value any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
