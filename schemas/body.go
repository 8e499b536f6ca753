package schemas

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the largest payload or result that the house carries where nothing else is configured: 128 MiB.
const MaxBody = 128 << 20

// BodyRef stands for a payload or result that is too large for a message. It is kept in parts of PartBytes each, the last one as
// long as is left; they are numbered from 0.
type BodyRef struct {
	ID        string `json:"id"` // letters, digits, _ and -, at most 64; made at random by whoever writes the body
	Bytes     int64  `json:"bytes"`
	PartBytes int    `json:"part_bytes"`
	SHA256    string `json:"sha256"` // of the whole, lower-case hexadecimal

	Unknown jsontext.Value `json:",embed"`
}

// Parts is how many parts the body has.
func (r *BodyRef) Parts() int { return int((r.Bytes + int64(r.PartBytes) - 1) / int64(r.PartBytes)) }

// At is the part in which a byte stands, and where in it.
func (r *BodyRef) At(offset int64) (part, within int) {
	return int(offset / int64(r.PartBytes)), int(offset % int64(r.PartBytes))
}

// PartLen is how many bytes a part has.
func (r *BodyRef) PartLen(part int) int {
	return int(min(int64(r.PartBytes), r.Bytes-int64(part)*int64(r.PartBytes)))
}

// maxParts bounds how finely a body may be cut.
const maxParts = 1 << 20

// Check refuses a reference that names no body.
func (r *BodyRef) Check() *Error {
	return firstOf(
		checkToken(r.ID, "/id"),
		checkRange(r.Bytes, 1, math.MaxInt32, "/bytes"),
		checkRange(int64(r.PartBytes), 1, math.MaxInt32, "/part_bytes"),
		unless(r.PartBytes < 1 || int64(r.Parts()) <= maxParts, "/part_bytes", "a size that makes at most 1,048,576 parts"),
		unless(sha256Form.MatchString(r.SHA256), "/sha256", "64 lower-case hexadecimal digits"),
	)
}

// What a worker asks of a body.
const (
	DoGet  = "get"
	DoPut  = "put"
	DoDrop = "drop"
)

// BodyPart moves one part of a body. A request is its JSON on one line and, where a part is put, a newline and the bytes of the part.
// The answer to a get is the bytes alone; every other answer is a BodyPart that names the part again.
//
// A worker names what it does, its task and the sequence that it has; a caller, whose subjects say what it does, a body that it puts,
// or the task whose result it gets.
type BodyPart struct {
	V        Version `json:"v"`
	Do       string  `json:"do,omitzero"`
	TaskID   string  `json:"task_id,omitzero"`
	Sequence uint64  `json:"sequence,omitzero"`
	Body     string  `json:"body,omitzero"` // the id of the body
	Part     int     `json:"part"`
	Bytes    int64   `json:"bytes,omitzero"` // of the whole body, where that is known: one that is too large is refused at its first part
}

// EncodePart is a request that moves a part.
func EncodePart(p BodyPart, data []byte) []byte {
	head := MustEncode(p)
	if data == nil {
		return head
	}
	request := make([]byte, 0, len(head)+1+len(data))
	return append(append(append(request, head...), '\n'), data...)
}

// AcceptPart reads such a request. The data is a part of request.
func AcceptPart(request []byte) (p BodyPart, data []byte, err error) {
	head, data, _ := bytes.Cut(request, []byte("\n"))
	if err := Accept(head, &p); err != nil {
		return p, nil, err
	}
	if problem := p.check(); problem != nil {
		return p, nil, problem
	}
	return p, data, nil
}

func (p *BodyPart) check() *Error {
	return firstOf(
		checkVersion(p.V),
		checkOneOf(p.Do, []string{DoGet, DoPut, DoDrop}, "/do"),
		ifSet(p.TaskID, "/task_id", CheckTaskID),
		checkOptionalToken(p.Body, "/body"),
		checkRange(int64(p.Part), 0, maxParts, "/part"),
		checkRange(p.Bytes, 0, math.MaxInt32, "/bytes"),
	)
}
