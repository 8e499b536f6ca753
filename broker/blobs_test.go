package broker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func noise(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	return data
}

func TestBodiesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	blobs, part := conn.Blobs(), conn.PartBytes()
	for name, size := range map[string]int{
		"one byte": 1, "a part less one": part - 1, "a part": part, "a part and one": part + 1, "many parts": 9*part + 17,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shelf, data := broker.OfTask(schemas.NewTaskID()), noise(size)
			ref, err := blobs.Write(t.Context(), shelf, bytes.NewReader(data), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(data)
			if ref.Bytes != int64(size) || ref.SHA256 != hex.EncodeToString(sum[:]) || ref.Check() != nil {
				t.Errorf("the reference is %+v (%v)", ref, ref.Check())
			}
			r := blobs.Reader(t.Context(), shelf, ref)
			defer func() { _ = r.Close() }()
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes came back (%v)", len(got), size, err)
			}
		})
	}
}

func TestBodyIsReadFromAnywhere(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	shelf, data := broker.OfTask(schemas.NewTaskID()), noise(5*conn.PartBytes()+11)
	ref, err := conn.Blobs().Write(t.Context(), shelf, bytes.NewReader(data), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r := conn.Blobs().Reader(t.Context(), shelf, ref)
	defer func() { _ = r.Close() }()
	for range 20 {
		from, length := rand.IntN(len(data)), rand.IntN(3*conn.PartBytes())
		if _, err := r.Seek(int64(from), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(r, int64(length)))
		if want := data[from:min(len(data), from+length)]; err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes from %d: %d came (%v)", length, from, len(got), err)
		}
	}
}

func TestBodiesAreForgotten(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	blobs, shelf := conn.Blobs(), broker.Staged(schemas.DefaultTenant)
	put := func(ttl time.Duration) *schemas.BodyRef {
		ref, err := blobs.Write(t.Context(), shelf, bytes.NewReader(noise(2000)), ttl)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	kept, dropped, short := put(time.Minute), put(time.Minute), put(time.Second)
	blobs.Drop(shelf, dropped.ID)
	gone := func(ref *schemas.BodyRef) bool {
		_, err := blobs.Part(t.Context(), shelf, ref.ID, 0)
		if err != nil && !errors.Is(err, broker.ErrNotFound) {
			t.Fatal(err)
		}
		return err != nil
	}
	if !gone(dropped) {
		t.Error("a body that was dropped is still there")
	}
	brokertest.Eventually(t, "the body whose time is over is forgotten", func() bool { return gone(short) })
	if gone(kept) {
		t.Error("a body is gone before its time")
	}
	if taken, err := blobs.Bytes(t.Context()); err != nil || taken < 2000 || taken > 4000 {
		t.Errorf("the bodies take %d bytes (%v)", taken, err)
	}
}

func TestDamagedBodyIsNotTaken(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	blobs, shelf := conn.Blobs(), broker.OfTask(schemas.NewTaskID())
	ref, err := blobs.Write(t.Context(), shelf, bytes.NewReader(noise(3*conn.PartBytes())), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs.Put(t.Context(), shelf, ref.ID, 1, noise(conn.PartBytes()), time.Minute); err != nil {
		t.Fatal(err)
	}
	r := blobs.Reader(t.Context(), shelf, ref)
	defer func() { _ = r.Close() }()
	_, err = io.Copy(io.Discard, r)
	wantCode(t, err, schemas.DataLoss, "BODY_DAMAGED")
}

func TestBodyWriterTellsWhyAPartWasNotPut(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	w := broker.NewBodyWriter(t.Context(), 10, func(_ context.Context, _ string, part int, _ []byte) error {
		if part == 3 {
			return full
		}
		return nil
	})
	for range 100 {
		if _, err := w.Write(noise(10)); err != nil {
			break
		}
	}
	if _, err := w.Close(); !errors.Is(err, full) {
		t.Errorf("Close says %v", err)
	}
}

func TestBodiesHaveLegalNamesAlone(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	for _, bad := range []struct {
		shelf broker.Shelf
		id    string
	}{
		{broker.OfTask("*"), "a"}, {broker.OfTask("x"), "a"}, {broker.Staged("a.b"), "a"}, {broker.Staged("default"), "*"}, {broker.Staged("default"), "a.b"},
	} {
		err := conn.Blobs().Put(t.Context(), bad.shelf, bad.id, 0, []byte("x"), time.Minute)
		wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	}
}
