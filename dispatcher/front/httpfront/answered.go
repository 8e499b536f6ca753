package httpfront

// bodied is an answer that is a body and nothing else.
type bodied[T any] struct{ Body *T }

// answered makes an answer of what the house has said.
func answered[T any](body *T, err error) (*bodied[T], error) {
	if err != nil {
		return nil, err
	}
	return &bodied[T]{body}, nil
}
