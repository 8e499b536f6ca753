package floor

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Stream is a reader of core messages under a window: 16 of them may be on their way, and every eighth is acknowledged.
type Stream struct{ nc *nats.Conn }

const (
	streamSubject = "floor.stream"
	streamWindow  = 16
	streamEvery   = 8
)

// NewStream connects a reader.
func NewStream(url string) (*Stream, error) {
	nc, err := connect(url, "floor of streams")
	if err != nil {
		return nil, err
	}
	return &Stream{nc: nc}, nil
}

// Read asks for so many chunks, and calls fn with each.
func (s *Stream) Read(ctx context.Context, chunks int, payload []byte, fn func()) error {
	inbox := s.nc.NewInbox()
	heard, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	defer func() { _ = heard.Unsubscribe() }()
	ask := nats.NewMsg(streamSubject)
	ask.Reply, ask.Data = inbox, payload
	ask.Header.Set("Chunks", strconv.Itoa(chunks))
	if err := s.nc.PublishMsg(ask); err != nil {
		return fmt.Errorf("ask for stream: %w", err)
	}
	for n := 1; n <= chunks; n++ {
		m, err := heard.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("read stream: %w", err)
		}
		if fn(); n%streamEvery == 0 {
			err = s.nc.Publish(m.Reply, nil)
		}
		if err != nil {
			return fmt.Errorf("acknowledge chunk: %w", err)
		}
	}
	return nil
}

// Close ends the connection.
func (s *Stream) Close() { s.nc.Close() }

// ServeStreams sends each that asks its chunks.
func ServeStreams(ctx context.Context, url string, ready func()) error {
	nc, err := connect(url, "floor of streams, worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	asked := make(chan *nats.Msg, 64)
	if _, err = nc.ChanSubscribe(streamSubject, asked); err == nil {
		err = nc.Flush()
	}
	if err != nil {
		return fmt.Errorf("serve streams: %w", err)
	}
	ready()
	for {
		select {
		case m := <-asked:
			if err := send(ctx, nc, m); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func send(ctx context.Context, nc *nats.Conn, m *nats.Msg) error {
	chunks, err := strconv.Atoi(m.Header.Get("Chunks"))
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	back := nc.NewInbox()
	credits, err := nc.SubscribeSync(back)
	if err != nil {
		return fmt.Errorf("hear credit: %w", err)
	}
	defer func() { _ = credits.Unsubscribe() }()
	for n := range chunks {
		if n >= streamWindow && n%streamEvery == 0 {
			if _, err := credits.NextMsgWithContext(ctx); err != nil {
				return fmt.Errorf("wait for credit: %w", err)
			}
		}
		body := append(binary.BigEndian.AppendUint64(nil, uint64(n+1)), m.Data...)
		if err := nc.PublishMsg(&nats.Msg{Subject: m.Reply, Reply: back, Data: body}); err != nil {
			return fmt.Errorf("send chunk: %w", err)
		}
	}
	return nil
}
