package broker

import (
	"bytes"
	"strconv"

	"github.com/agentreach/agent-reach/schemas"
)

// chunkForm is how the chunks of a task go out, all alike, so that no JSON decoder has to read them one by one: that would be most of
// what a chunk costs. What is in any other form, as another worker may write it, is decoded.
type chunkForm struct{ head []byte }

const (
	chunkNumber = `,"n":`
	chunkData   = `,"data":`
)

func chunkFormOf(taskID string) chunkForm {
	return chunkForm{[]byte(`{"v":` + strconv.Itoa(int(schemas.CurrentVersion)) + `,"task_id":"` + taskID + `","attempt":`)}
}

// write is a chunk; data is valid JSON.
func (f chunkForm) write(attempt int, n int64, data schemas.Payload) []byte {
	body := make([]byte, 0, len(f.head)+len(data)+64)
	body = append(body, f.head...)
	body = strconv.AppendInt(body, int64(attempt), 10)
	body = append(body, chunkNumber...)
	body = strconv.AppendInt(body, n, 10)
	body = append(body, chunkData...)
	body = append(body, data...)
	return append(body, '}')
}

// read is the chunk in a message, whose data stays a part of it; nil if it is in another form, or not valid.
func (f chunkForm) read(body []byte) *schemas.Chunk {
	rest, found := bytes.CutPrefix(body, f.head)
	if !found {
		return nil
	}
	attempt, rest, found := number(rest, chunkNumber)
	if !found {
		return nil
	}
	n, rest, found := number(rest, chunkData)
	if !found || !bytes.HasSuffix(rest, []byte("}")) {
		return nil
	}
	data := rest[:len(rest)-1]
	if schemas.ScanWithin(data) != nil {
		return nil
	}
	return &schemas.Chunk{V: schemas.CurrentVersion, TaskID: f.taskID(), Attempt: int(attempt), N: n, Data: data}
}

func (f chunkForm) taskID() string {
	return string(f.head[len(f.head)-len(`","attempt":`)-taskIDBytes : len(f.head)-len(`","attempt":`)])
}

// taskIDBytes is the length of every task_id.
const taskIDBytes = 36

// number reads digits that end in a text.
func number(text []byte, end string) (n int64, rest []byte, found bool) {
	digits, rest, found := bytes.Cut(text, []byte(end))
	if !found || len(digits) > 1 && digits[0] == '0' || len(digits) > 0 && digits[0] == '+' {
		return 0, nil, false
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return n, rest, err == nil
}
