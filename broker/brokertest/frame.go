package brokertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// frame is one operation as the server sends it: a line, and the payload behind it if it delivers a message.
type frame struct {
	bytes   []byte
	subject string // of a message
	payload []byte // of a message, without its headers
}

var errFrame = errors.New("not the NATS protocol")

// maxFrame is far above what a broker of ours delivers; a length beyond it is a stream misread.
const maxFrame = 64 << 20

// readFrame reads the next operation whole.
func readFrame(r *bufio.Reader) (frame, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return frame{}, err
	}
	verb, rest, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
	switch strings.ToUpper(verb) {
	case "MSG":
		return readMessage(r, line, strings.Fields(rest), false)
	case "HMSG":
		return readMessage(r, line, strings.Fields(rest), true)
	case "INFO":
		return frame{bytes: withoutAddresses(line, rest)}, nil
	}
	return frame{bytes: line}, nil
}

// readMessage reads what follows "MSG subject sid [reply] size" or "HMSG subject sid [reply] headers size".
func readMessage(r *bufio.Reader, line []byte, fields []string, headed bool) (frame, error) {
	sizes := 1
	if headed {
		sizes = 2
	}
	if len(fields) != 2+sizes && len(fields) != 3+sizes {
		return frame{}, fmt.Errorf("read message line of %d fields: %w", len(fields), errFrame)
	}
	size, err := readSize(fields[len(fields)-1])
	if err != nil {
		return frame{}, err
	}
	headers := 0
	if headed {
		if headers, err = readSize(fields[len(fields)-2]); err != nil || headers > size {
			return frame{}, errFrame
		}
	}
	all := make([]byte, len(line)+size+len("\r\n"))
	copy(all, line)
	if _, err := io.ReadFull(r, all[len(line):]); err != nil {
		return frame{}, err
	}
	return frame{bytes: all, subject: fields[0], payload: all[len(line)+headers : len(line)+size]}, nil
}

func readSize(text string) (int, error) {
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 || size > maxFrame {
		return 0, fmt.Errorf("read message size: %w", errFrame)
	}
	return size, nil
}

// withoutAddresses takes the broker's own addresses out of its greeting: a client that knew them would go round the proxy.
func withoutAddresses(line []byte, text string) []byte {
	var info map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &info) != nil {
		return line
	}
	delete(info, "connect_urls")
	shorter, err := json.Marshal(info)
	if err != nil {
		return line
	}
	return fmt.Appendf(nil, "INFO %s\r\n", shorter)
}

// publishReply recognises JetStream's answer to a publish; the other messages to inboxes are somebody else's.
func (f frame) publishReply() (reply, bool) {
	if !strings.HasPrefix(f.subject, "_INBOX") || !bytes.Contains(f.payload, []byte(`"seq"`)) {
		return reply{}, false
	}
	var r reply
	err := json.Unmarshal(f.payload, &r)
	return r, err == nil && r.Stream != "" && r.Type == ""
}

// reply is what JetStream answers to a publish.
type reply struct {
	Stream string `json:"stream"`
	Type   string `json:"type"` // set in every other answer of JetStream
	Error  *struct {
		Code int `json:"code"`
	} `json:"error"`
}

func (r reply) stored() bool { return r.Error == nil }

func (r reply) of(streams []string) bool {
	return len(streams) == 0 || slices.Contains(streams, r.Stream)
}
