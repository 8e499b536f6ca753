package brokertest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFrame(t *testing.T) {
	t.Parallel()
	const (
		ack     = `{"stream":"REACH", "seq":7}`
		refusal = `{"error":{"code":400,"err_code":10071},"stream":"REACH","seq":0}`
		message = `{"type":"io.nats.jetstream.api.v1.stream_msg_get_response","message":{"seq":7},"stream":"REACH"}`
	)
	tests := []struct {
		name, text string
		bytes      string // "" when as text
		reply      string // of which stream; "" when it is none
		stored     bool
	}{
		{name: "ping", text: "PING\r\n"},
		{name: "an ordinary message", text: "MSG a.b 1 5\r\nhello\r\n"},
		{name: "an ordinary message with a reply address", text: "MSG a.b 1 _INBOX.x 5\r\nhello\r\n"},
		{name: "an empty message", text: "MSG a.b 1 0\r\n\r\n"},
		{name: "a payload that looks like protocol", text: "MSG a.b 1 8\r\nMSG x\r\n.\r\n"},
		{name: "an acknowledgement", text: "MSG _INBOX.x.y 1 27\r\n" + ack + "\r\n", reply: "REACH", stored: true},
		{name: "an acknowledgement to an own inbox", text: "MSG _INBOX_a.x 1 27\r\n" + ack + "\r\n", reply: "REACH", stored: true},
		{
			name: "an acknowledgement with headers", text: "HMSG _INBOX.x 1 12 39\r\nNATS/1.0\r\n\r\n" + ack + "\r\n",
			reply: "REACH", stored: true,
		},
		{name: "the same for somebody else", text: "MSG a.b 1 27\r\n" + ack + "\r\n"},
		{name: "a refusal", text: fmt.Sprintf("MSG _INBOX.x 1 %d\r\n%s\r\n", len(refusal), refusal), reply: "REACH"},
		{name: "another answer with a sequence", text: fmt.Sprintf("MSG _INBOX.x 1 %d\r\n%s\r\n", len(message), message)},
		{
			name: "a greeting loses the addresses", text: `INFO {"port":1,"connect_urls":["a:1"]}` + "\r\n",
			bytes: `INFO {"port":1}` + "\r\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := bufio.NewReader(strings.NewReader(tt.text + "PONG\r\n"))
			f, err := readFrame(r)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.bytes
			if want == "" {
				want = tt.text
			}
			if diff := cmp.Diff(want, string(f.bytes)); diff != "" {
				t.Error(diff)
			}
			got, ok := f.publishReply()
			if ok != (tt.reply != "") || ok && (got.Stream != tt.reply || got.stored() != tt.stored) {
				t.Errorf("got reply %+v, %t", got, ok)
			}
			if next, err := readFrame(r); err != nil || string(next.bytes) != "PONG\r\n" {
				t.Errorf("then came %q, %v", next.bytes, err)
			}
		})
	}
}

func TestReadFrameRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       error
	}{
		{"an end in the line", "MSG a 1", io.EOF},
		{"an end in the payload", "MSG a 1 5\r\nhel", io.ErrUnexpectedEOF},
		{"a message without size", "MSG a 1\r\n", errFrame},
		{"a size that is no number", "MSG a 1 x\r\n", errFrame},
		{"a size below zero", "MSG a 1 -5\r\n", errFrame},
		{"a size beyond reason", "MSG a 1 99999999999\r\n", errFrame},
		{"headers larger than the whole", "HMSG a 1 9 5\r\n", errFrame},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := readFrame(bufio.NewReader(strings.NewReader(tt.text)))
			if !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
		})
	}
}

// FuzzReadFrame holds the proxy to passing on what it does not change byte by byte.
func FuzzReadFrame(f *testing.F) {
	f.Add("PING\r\nMSG a 1 5\r\nhello\r\n+OK\r\n")
	f.Add("HMSG a 1 b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
	f.Add("MSG  a\t1 -1\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToUpper(text), "INFO") {
			return
		}
		r := bufio.NewReader(strings.NewReader(text))
		var passed strings.Builder
		for {
			frame, err := readFrame(r)
			if err != nil {
				break
			}
			frame.publishReply()
			passed.Write(frame.bytes)
		}
		if !strings.HasPrefix(text, passed.String()) {
			t.Errorf("got %q of %q", passed.String(), text)
		}
	})
}
