package broker

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams and buckets of the house.
const (
	ledgerStream       = "REACH"
	bodiesStream       = "REACH_BODIES"
	bucketAgents       = "REACH_AGENTS"
	bucketCapabilities = "REACH_CAPABILITIES"
	bucketIdempotency  = "REACH_IDEMPOTENCY"
	bucketOwed         = "REACH_OWED"
	bucketSchedules    = "REACH_SCHEDULES"
)

// markerTTL is how long a bucket keeps the marker that stands for a key whose time has ended.
const markerTTL = time.Minute

// The feed is the ledger with the tokens of its subjects turned round, so that a worker can listen for its own assignments.
const (
	feedSource      = "reach.task.*.*.*.*"
	feedDestination = "reach.feed.{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.{{wildcard(1)}}"
)

// ledgerConfig is the ledger's stream: one message per subject, each kept for its own time, nothing discarded for any other reason.
func ledgerConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              ledgerStream,
		Description:       "Agent-Reach: the phases of every task",
		Subjects:          []string{ledgerSubjects},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgsPerSubject: 1,
		Duplicates:        100 * time.Millisecond, // the least there is: no message has an id of its own
		Replicas:          replicas,
		AllowDirect:       true,
		AllowMsgTTL:       true,
		RePublish:         &jetstream.RePublish{Source: feedSource, Destination: feedDestination},
	}
}

// bodiesConfig is the stream of large bodies: a message for each part, each kept for its own time. How much it may hold is enforced
// where bodies are taken in.
func bodiesConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              bodiesStream,
		Description:       "Agent-Reach: payloads and results that are too large for a message, in parts",
		Subjects:          []string{bodySubjects, stagedSubjects},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgsPerSubject: 1,
		Duplicates:        100 * time.Millisecond,
		Replicas:          replicas,
		AllowDirect:       true,
		AllowMsgTTL:       true,
	}
}

// bucketConfigs are the buckets: one value per key, no time limit but a key's own.
func bucketConfigs(replicas int) []jetstream.KeyValueConfig {
	bucket := func(name, description string) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{
			Bucket: name, Description: description, History: 1, Storage: jetstream.FileStorage, Replicas: replicas,
			LimitMarkerTTL: markerTTL,
		}
	}
	return []jetstream.KeyValueConfig{
		bucket(bucketAgents, "Agent-Reach: registrations, by agent_id"),
		bucket(bucketCapabilities, "Agent-Reach: the dictionary, by capability"),
		bucket(bucketIdempotency, "Agent-Reach: tasks by the callers' idempotency keys"),
		bucket(bucketOwed, "Agent-Reach: tasks whose end a device has not acknowledged"),
		bucket(bucketSchedules, "Agent-Reach: tasks that recur, by tenant and name"),
	}
}
