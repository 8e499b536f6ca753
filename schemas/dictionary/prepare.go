package dictionary

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// Bounds of an entry.
const (
	MaxAliases          = 64
	MaxAliasBytes       = 128
	MaxDescriptionBytes = 4096
	MaxProbeBytes       = 64 << 10
	MaxTimeoutHintMS    = 7 * 24 * 3600 * 1000 // a week
)

// Prepare checks an entry and gives the form in which it is stored: shorthand expanded, schemas and probe in canonical form. Two
// entries are the same if their prepared forms encode to the same bytes. The error is an *schemas.Error with code INVALID_ARGUMENT
// and details.field, and with details.pointer where a schema is at fault.
func Prepare(c schemas.Capability) (schemas.Capability, error) {
	entry, err := prepare(c)
	if err != nil {
		return schemas.Capability{}, err
	}
	return entry.Capability, nil
}

func prepare(c schemas.Capability) (*Entry, error) {
	if err := checkWords(&c); err != nil {
		return nil, err
	}
	entry := &Entry{Capability: c}
	entry.V = schemas.CurrentVersion
	var err error
	if entry.Input, err = compile("/input_schema", c.InputSchema); err != nil {
		return nil, err
	}
	if entry.Output, err = compile("/output_schema", c.OutputSchema); err != nil {
		return nil, err
	}
	entry.InputSchema, entry.OutputSchema = entry.Input.Raw(), entry.Output.Raw()
	if c.ChunkSchema != nil {
		chunk, err := compile("/chunk_schema", c.ChunkSchema)
		if err != nil {
			return nil, err
		}
		entry.ChunkSchema = chunk.Raw()
	}
	entry.Probe, err = checkProbe("/probe", c.ID, c.Probe, entry.Input)
	return entry, err
}

// compile refuses an absent schema: what accepts everything says so.
func compile(field string, raw []byte) (*contract.Schema, error) {
	if raw == nil {
		return nil, invalid(field, "%s is missing; {} accepts everything", field[1:])
	}
	schema, err := contract.Compile(raw)
	if err != nil {
		return nil, schemas.AsError(err).With("field", field)
	}
	return schema, nil
}

// checkProbe gives the probe in canonical form, if it is an input that the schema accepts. An absent one stays absent.
func checkProbe(field, id string, probe schemas.Payload, input *contract.Schema) (schemas.Payload, error) {
	if probe == nil {
		return nil, nil
	}
	if len(probe) > MaxProbeBytes {
		return nil, invalid(field, "the probe has %d bytes; %d is the limit", len(probe), MaxProbeBytes)
	}
	if refused := input.CheckInput(id, probe); refused != nil {
		return nil, invalid(field, "the probe is not an input that %s accepts: %s", id, refused.Message)
	}
	return schemas.Canonical(probe)
}

func checkWords(c *schemas.Capability) error {
	if !c.V.Understood() {
		return invalid("/v", "v is %d at most", schemas.CurrentVersion)
	}
	if err := schemas.CheckCapability(c.ID); err != nil {
		return schemas.AsError(err).With("field", "/id")
	}
	if len(c.Description) > MaxDescriptionBytes || !utf8.ValidString(c.Description) {
		return invalid("/description", "a description has at most %d bytes of text", MaxDescriptionBytes)
	}
	if c.TimeoutHintMS < 0 || c.TimeoutHintMS > MaxTimeoutHintMS {
		return invalid("/timeout_hint_ms", "timeout_hint_ms takes 0 to %d", MaxTimeoutHintMS)
	}
	if err := checkAliases(c.Aliases); err != nil {
		return err
	}
	if err := checkTags(c.Tags); err != nil {
		return err
	}
	return checkErrorMapping(c.ErrorMapping)
}

func checkAliases(aliases []string) error {
	if len(aliases) > MaxAliases {
		return invalid("/aliases", "a capability has at most %d aliases", MaxAliases)
	}
	seen := make(map[string]bool, len(aliases))
	for i, alias := range aliases {
		name := Normalise(alias)
		if !isText(alias, MaxAliasBytes) || name == "" {
			return invalid(fmt.Sprintf("/aliases/%d", i), "an alias is 1 to %d bytes of printable text", MaxAliasBytes)
		}
		if seen[name] {
			return invalid(fmt.Sprintf("/aliases/%d", i), "the alias %s is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

func checkTags(tags []string) error {
	if len(tags) > schemas.MaxTags {
		return invalid("/tags", "a capability has at most %d tags", schemas.MaxTags)
	}
	for i, tag := range tags {
		if !isText(tag, schemas.MaxTagBytes) {
			return invalid(fmt.Sprintf("/tags/%d", i), "a tag is 1 to %d bytes of printable text", schemas.MaxTagBytes)
		}
	}
	return nil
}

const (
	maxMappings       = 256
	maxAgentCodeBytes = 128
)

func checkErrorMapping(mapping map[string]schemas.Code) error {
	if len(mapping) > maxMappings {
		return invalid("/error_mapping", "error_mapping has at most %d codes", maxMappings)
	}
	for agentCode, code := range mapping {
		if !isText(agentCode, maxAgentCodeBytes) || !code.Standard() {
			return invalid("/error_mapping", "error_mapping goes from the agent's codes (1 to %d bytes of printable text) to %v",
				maxAgentCodeBytes, schemas.Codes)
		}
	}
	return nil
}

func isText(text string, limit int) bool {
	if text == "" || len(text) > limit || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func invalid(field, format string, args ...any) error {
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, format, args...).With("field", field)
}
