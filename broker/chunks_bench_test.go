package broker_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

const benchData = `"Ships sail. "`

// BenchmarkChunks is one stream from a writer to a reader, each on a connection of its own, beside what plain NATS does with the same
// window: a number in front of the body, an acknowledgement after every eighth.
func BenchmarkChunks(b *testing.B) {
	b.Run("stream", benchStream)
	b.Run("plain NATS", benchPlain)
}

func benchStream(b *testing.B) {
	server := brokertest.New(b)
	writers, err := server.Conn(b).WriteChunks("a1")
	if err != nil {
		b.Fatal(err)
	}
	defer writers.Close()
	message := &schemas.ReachMessage{TaskID: schemas.NewTaskID(), Attempt: 1, ResponseMode: schemas.ModeStream}
	reader, err := server.Conn(b).ReadChunks(message.TaskID, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	reader.From("a1")
	writer := writers.Open(message)
	defer writer.End()
	b.ResetTimer()
	go func() {
		for range b.N {
			if writer.Write(context.Background(), schemas.Payload(benchData)) != nil {
				return
			}
		}
		reader.End(writer.Last())
	}()
	got := 0
	for piece, err := range reader.All(context.Background()) {
		if err != nil || piece.Chunk == nil {
			b.Fatalf("%v, %+v", err, piece.Notice)
		}
		got++
	}
	if got != b.N {
		b.Fatalf("%d of %d chunks", got, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

func benchPlain(b *testing.B) {
	const window, every = 16, 8
	server := brokertest.New(b)
	from, to := plainConn(b, server), plainConn(b, server)
	credits := make(chan struct{}, window)
	for range window / every {
		credits <- struct{}{}
	}
	done := make(chan struct{})
	subscribe(b, from, "plain.credit", func(*nats.Msg) { credits <- struct{}{} })
	subscribe(b, to, "plain.chunk", func(m *nats.Msg) {
		n := binary.BigEndian.Uint64(m.Data)
		if n%every == 0 {
			_ = to.Publish("plain.credit", nil)
		}
		if n == uint64(b.N) {
			close(done)
		}
	})
	b.ResetTimer()
	for n := range b.N {
		if n%every == 0 {
			<-credits
		}
		body := binary.BigEndian.AppendUint64(make([]byte, 0, 128), uint64(n+1))
		if err := from.Publish("plain.chunk", append(body, benchData...)); err != nil {
			b.Fatal(err)
		}
	}
	<-done
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

func plainConn(b *testing.B, server *brokertest.Broker) *nats.Conn {
	b.Helper()
	nc, err := nats.Connect(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	return nc
}

func subscribe(b *testing.B, nc *nats.Conn, subject string, fn nats.MsgHandler) {
	b.Helper()
	if _, err := nc.Subscribe(subject, fn); err != nil {
		b.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		b.Fatal(err)
	}
}
