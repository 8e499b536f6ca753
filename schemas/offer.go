package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeOffer reads the three forms of an offer: an object with id, an object with name, a bare string.
func decodeOffer(dec *jsontext.Decoder, o *Offer) error {
	if dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		*o = Offer{ID: token.String()}
		return err
	}
	type plain Offer
	form := struct {
		Name string `json:"name,omitzero"`
		plain
	}{}
	if err := json.UnmarshalDecode(dec, &form); err != nil {
		return err
	}
	*o = Offer(form.plain)
	if o.ID == "" {
		o.ID = form.Name
	}
	return nil
}
