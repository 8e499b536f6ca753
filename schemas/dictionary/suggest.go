package dictionary

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/nearest"
)

const (
	maxNearest   = 3
	maxAvailable = 256 // ids in an error
	maxListed    = 16  // ids in a sentence
	maxQuoted    = 64  // bytes of a caller's words in a sentence
)

// Unknown refuses a registration that names a capability which does not exist. Details has available, the ids that exist, and
// nearest. Registrations never use aliases, but an alias has a nearest id.
func (d *Dictionary) Unknown(id string) *schemas.Error {
	available := d.ids()
	message := quoteID(id) + " is not a capability"
	near := d.Nearest(id)
	switch {
	case len(near) > 0:
		message += "; did you mean " + alternatives(near) + "?"
	case len(available) == 0:
		message += "; the dictionary is empty"
	default:
		message += "; there are " + strings.Join(available[:min(maxListed, len(available))], ", ")
	}
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonUnknownCapability, "%s", message).
		With("available", available[:min(maxAvailable, len(available))]).With("nearest", near)
}

// NotFound tells a caller that its intent, or the capability that it named, does not exist.
func (d *Dictionary) NotFound(intent string) *schemas.Error {
	return NotFoundNear(intent, d.Nearest(intent))
}

// NotFoundNear is NotFound with what somebody else has found to be nearest.
func NotFoundNear(intent string, near []string) *schemas.Error {
	message := quote(intent) + " is not a capability"
	if len(near) > 0 {
		quoted := make([]string, len(near))
		for i, id := range near {
			quoted[i] = quote(id)
		}
		message += "; did you mean " + alternatives(quoted) + "?"
	}
	return schemas.NewError(schemas.NotFound, schemas.ReasonUnknownCapability, "%s (reach capability list)", message).
		With("nearest", near)
}

// Nearest lists the ids that someone who wrote name may have meant, the nearest first.
func (d *Dictionary) Nearest(name string) []string {
	if id, found := d.Resolve(name); found {
		return []string{id}
	}
	ids := []string{}
	for _, known := range nearest.Names(Normalise(name), slices.Collect(maps.Keys(d.owners)), 4*maxNearest) {
		if id := d.owners[known]; len(ids) < maxNearest && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// quoteID leaves an id as it is and quotes everything else.
func quoteID(id string) string {
	if schemas.CheckCapability(id) == nil {
		return id
	}
	return quote(id)
}

func quote(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.QuoteToGraphic(text)
}

func alternatives(names []string) string { return strings.Join(names, " or ") }
