package front

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// What is too large to be held lies in a file, and its payload or result is read from there. These read all the rest of it. The error is
// contract.ErrNoSkeleton for what has to be read whole to find out what it is: by Message or Result then.

// mostBeside is how many bytes it has beside its payload or result.
const mostBeside = 64 << 10

// LargeMessage reads a caller's ReachMessage, as Message does, without its payload.
func LargeMessage(file io.ReaderAt, size int64) (*schemas.ReachMessage, *io.SectionReader, error) {
	rest, payload, err := apart(file, size, "payload")
	if err != nil {
		return nil, nil, err
	}
	message, err := Message(rest)
	if err != nil {
		return nil, nil, err
	}
	message.Payload = nil
	return message, payload, nil
}

// LargeResult reads a result, as Result does, without what the agent has made.
func LargeResult(file io.ReaderAt, size int64, taskID string, token uint64) (*schemas.Result, *io.SectionReader, error) {
	rest, made, err := apart(file, size, "result")
	if err != nil {
		return nil, nil, err
	}
	result, err := Result(rest, taskID, token)
	if err != nil {
		return nil, nil, err
	}
	result.Result = nil
	return result, made, nil
}

// apart takes a member out of a JSON object: null is in its place.
func apart(file io.ReaderAt, size int64, member string) (rest []byte, value *io.SectionReader, err error) {
	from, to, found, err := contract.Locate(io.NewSectionReader(file, 0, size), member)
	var invalid *schemas.Error
	switch beside := size - (to - from); {
	case errors.As(err, &invalid), err == nil && (!found || beside > mostBeside):
		return nil, nil, contract.ErrNoSkeleton // what is wrong, and where, is found in the whole
	case err != nil:
		return nil, nil, err
	}
	var out bytes.Buffer
	_, err = io.Copy(&out, io.MultiReader(
		io.NewSectionReader(file, 0, from), bytes.NewReader([]byte("null")), io.NewSectionReader(file, to, size-to),
	))
	if err != nil {
		return nil, nil, fmt.Errorf("read what is beside the %s: %w", member, err)
	}
	return out.Bytes(), io.NewSectionReader(file, from, to-from), nil
}
