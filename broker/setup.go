package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Setup creates every stream and bucket that is missing, and checks those that exist: one with a setting that would let tasks be
// lost or be changed behind the ledger's back is an error that says what to do. Several processes may do so at once. While the
// broker is not ready, it tries again until ctx ends (30 s if it has no deadline).
func (c *Conn) Setup(ctx context.Context) error {
	ctx, cancel := bounded(ctx, setupTimeout)
	defer cancel()
	for _, one := range []struct {
		what  string
		want  jetstream.StreamConfig
		check func(jetstream.StreamConfig) error
	}{
		{"the ledger", ledgerConfig(c.cfg.Replicas), checkLedger},
		{"large bodies", bodiesConfig(c.cfg.Replicas), checkBodies},
	} {
		if err := c.insist(ctx, func(ctx context.Context) error { return c.setupStream(ctx, one.want, one.check) }); err != nil {
			return fmt.Errorf("set up %s: %w", one.what, err)
		}
	}
	for _, bucket := range bucketConfigs(c.cfg.Replicas) {
		one := func(ctx context.Context) error { return c.setupBucket(ctx, bucket) }
		if err := c.insist(ctx, one); err != nil {
			return fmt.Errorf("set up bucket %s: %w", bucket.Bucket, err)
		}
	}
	return nil
}

// insist repeats step until it ends otherwise than with "not ready yet".
func (c *Conn) insist(ctx context.Context, step func(context.Context) error) error {
	for again := newBackoff(); ; {
		err := c.once(ctx, step)
		if err == nil || !notReady(err) {
			return err
		}
		if c.nc.IsClosed() || !pause(ctx, again.delay(isUnclear)) {
			return fmt.Errorf("the broker was not ready in time; is JetStream enabled, with enough servers? %w", err)
		}
	}
}

// stepTimeout bounds one try of one step: creating a replicated stream takes an election.
const stepTimeout = 5 * time.Second

func (c *Conn) once(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return step(ctx)
}

// notReady reports whether the broker may only need time: it starts, elects a leader, waits for other servers to join, or is just
// creating what another process has asked it for: then a stream exists for one question and is not found by the next.
func notReady(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == statusUnavailable || api.ErrorCode == codeNoPeers || api.ErrorCode == codeNoStream
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || disconnected(err)
}

func (c *Conn) setupStream(ctx context.Context, want jetstream.StreamConfig, check func(jetstream.StreamConfig) error) error {
	stream, err := c.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = c.js.CreateStream(ctx, want)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
		stream, err = c.js.Stream(ctx, want.Name)
	}
	if err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	c.warnReplicas(have)
	return check(have)
}

func (c *Conn) setupBucket(ctx context.Context, want jetstream.KeyValueConfig) error {
	_, err := c.js.CreateKeyValue(ctx, want)
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return err
	}
	stream, err := c.js.Stream(ctx, bucketStream(want.Bucket))
	if err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	c.warnReplicas(have)
	return checkBucket(have)
}

func bucketStream(bucket string) string { return "KV_" + bucket }

func (c *Conn) warnReplicas(have jetstream.StreamConfig) {
	if have.Replicas != c.cfg.Replicas {
		c.log.Warn().Str("stream", have.Name).Int("replicas", have.Replicas).Int("configured", c.cfg.Replicas).
			Msg("a stream has another number of replicas than configured (nats stream edit)")
	}
}

// demand is one thing that a stream must be, and what is wrong if it is not.
type demand struct {
	met   bool
	fault string
}

// anew is said of what no edit of a stream can mend.
const anew = " (this cannot be edited: save what it holds and delete it)"

// checkLedger refuses a stream that is not, or could stop being, a ledger.
func checkLedger(have jetstream.StreamConfig) error {
	want := ledgerConfig(have.Replicas)
	newest := have.Discard == jetstream.DiscardNew
	return unmet(have.Name, []demand{
		{!have.AllowMsgSchedules, "it allows message schedules, which reach beyond one subject" + anew},
		{!have.AllowRollup, "it allows roll-ups, with which one message can erase all others: switch them off"},
		{have.MaxAge == 0, "it has a maximum age, which ends tasks before their time: remove it"},
		{have.MaxMsgs <= 0 || newest, "at a number of messages it discards old ones, and with them tasks: remove the limit"},
		{have.MaxBytes <= 0 || newest, "at a number of bytes it discards old messages, and with them tasks: remove the limit"},
		{have.MaxMsgsPerSubject == 1, "it must keep one message per subject: set the maximum to 1"},
		{!have.DiscardNewPerSubject, "it refuses a second message on a subject: switch discarding new ones per subject off"},
		{have.Retention == jetstream.LimitsPolicy, "its retention must be by limits" + anew},
		{have.AllowMsgTTL, "it has no time to live per message: allow it"},
		{have.AllowDirect, "it has no direct get: allow it"},
		{have.Storage == jetstream.FileStorage, "it is kept in memory, and lost at a restart" + anew},
		{sameSubjects(have.Subjects, want.Subjects), "its subjects must be " + ledgerSubjects + " alone"},
		{have.SubjectTransform == nil, "it transforms subjects: remove the transform"},
		{have.Mirror == nil && len(have.Sources) == 0, "it takes messages from other streams: remove its mirror and sources"},
		{!have.NoAck, "it acknowledges nothing: switch acknowledgements on"},
		{!have.Sealed, "it is sealed" + anew},
		{sameFeed(have.RePublish, want.RePublish), "it must republish " + feedSource + " to " + feedDestination + ", with bodies"},
	})
}

// checkBodies refuses a stream that could lose a body before its time, or keep it beyond.
func checkBodies(have jetstream.StreamConfig) error {
	return unmet(have.Name, []demand{
		{have.MaxAge == 0, "it has a maximum age, which ends bodies before their time: remove it"},
		{have.Discard == jetstream.DiscardNew, "at its limit it discards old bodies: let it discard new ones"},
		{have.MaxMsgsPerSubject == 1, "it must keep one message per subject: set the maximum to 1"},
		{have.AllowMsgTTL, "it has no time to live per message: allow it"},
		{have.AllowDirect, "it has no direct get: allow it"},
		{have.Storage == jetstream.FileStorage, "it is kept in memory, and lost at a restart" + anew},
	})
}

// checkBucket refuses a bucket that could lose a key before its time.
func checkBucket(have jetstream.StreamConfig) error {
	return unmet(have.Name, []demand{
		{have.MaxAge == 0, "it has a time to live for all keys: remove it"},
		{have.MaxMsgsPerSubject == 1, "it must keep a history of 1 value per key"},
		{have.AllowMsgTTL, "it has no time to live per key: set a marker time to live of 1m"},
		{have.Discard == jetstream.DiscardNew, "at its limit it discards old keys: let it discard new ones"},
		{have.Storage == jetstream.FileStorage, "it is kept in memory, and lost at a restart" + anew},
	})
}

// unmet is an error that names every demand that is not met.
func unmet(stream string, demands []demand) error {
	var faults []string
	for _, d := range demands {
		if !d.met {
			faults = append(faults, d.fault)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("stream %s cannot be used until it is changed (nats stream edit %s): %s",
		stream, stream, strings.Join(faults, "; "))
}

func sameSubjects(have, want []string) bool { return len(have) == 1 && have[0] == want[0] }

func sameFeed(have, want *jetstream.RePublish) bool { return have != nil && *have == *want }
