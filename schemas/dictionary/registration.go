package dictionary

import (
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// CheckRegistration refuses a registration that names a capability which does not exist, whose schemas do not compile, or whose
// probes its own contract refuses. Where it is accepted, its schemas and probes are put into canonical form, so that two
// registrations of the same meaning store the same bytes; and it says where the agent's schemas spell something in another way than
// the dictionary. Bounds and grammar of everything else are Registration.Check's.
func (d *Dictionary) CheckRegistration(r *schemas.Registration) error {
	for i := range r.Capabilities {
		if err := d.checkOffer(&r.Capabilities[i]); err != nil {
			return under(fmt.Sprintf("/capabilities/%d", i), err)
		}
	}
	return nil
}

func (d *Dictionary) checkOffer(o *schemas.Offer) error {
	entry, found := d.entries[o.ID]
	if !found {
		return d.Unknown(o.ID).With("field", "/id")
	}
	input, output, chunk, err := compileOffer(o)
	if err != nil {
		return err
	}
	probe, err := checkProbe("/probe", o.ID, o.Probe, entry.Input)
	if err != nil {
		return err
	}
	o.InputSchema, o.OutputSchema, o.ChunkSchema, o.Probe, o.Alignment = input.Raw(), output.Raw(), chunk.Raw(), probe, nil
	words := &schemas.Alignment{
		Input: align.Derive(entry.InputSchema, o.InputSchema), Output: align.Derive(entry.OutputSchema, o.OutputSchema),
		Chunk: align.Derive(entry.ChunkSchema, o.ChunkSchema),
	}
	if !words.Empty() {
		o.Alignment = words
	}
	_, err = checkProbe("/probe", o.ID, align.New(words).Payload(probe), input)
	return err
}

// Narrow is a capability as an agent offers it: the agent's schemas apply as well as the dictionary's.
func (d *Dictionary) Narrow(o *schemas.Offer) (*Entry, error) {
	entry, found := d.entries[o.ID]
	if !found {
		return nil, d.Unknown(o.ID)
	}
	input, output, _, err := compileOffer(o)
	if err != nil {
		return nil, err
	}
	narrow := *entry
	narrow.Input, narrow.Output = contract.Both(entry.Input, input), contract.Both(entry.Output, output)
	return &narrow, nil
}

// compileOffer compiles an agent's own schemas; an absent one is nil and accepts everything.
func compileOffer(o *schemas.Offer) (input, output, chunk *contract.Schema, err error) {
	for _, one := range []struct {
		field string
		raw   []byte
		to    **contract.Schema
	}{{"/input_schema", o.InputSchema, &input}, {"/output_schema", o.OutputSchema, &output}, {"/chunk_schema", o.ChunkSchema, &chunk}} {
		if one.raw == nil {
			continue
		}
		if *one.to, err = compile(one.field, one.raw); err != nil {
			return nil, nil, nil, err
		}
	}
	return input, output, chunk, nil
}

// under puts the field that an error names below another.
func under(parent string, err error) error {
	e := schemas.AsError(err)
	var field string
	e.Detail("field", &field)
	return e.With("field", parent+field)
}
