package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/dispatcher/webhook"
	"github.com/agentreach/agent-reach/schemas"
)

// problem is one setting that will not do, and why.
type problem struct{ key, text string }

// check judges the values together: what no single one can show. Of what could not be read that has been said.
func (s *Settings) check(unread map[string]bool) error {
	problems := slices.Concat(
		s.Server.check(), s.Broker.check(), s.Registry.check(s.Broker.URL), s.Router.check(),
		s.Adaptor.check(), s.Ledger.check(), s.Limits.check(), s.Callbacks.check(), s.Log.check(),
	)
	var errs []error
	for _, p := range problems {
		if unread[p.key] {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %s %s", s.Source(p.key), p.key, p.text))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.Broker.URL = cmp.Or(s.Broker.URL, s.Registry.Storage)
	return nil
}

func (s *Server) check() []problem {
	return when(s.Port < 0 || s.Port > math.MaxUint16, "server.port", "is not a port: 0 to 65535")
}

func (b *Broker) check() []problem {
	return slices.Concat(
		checkURLs("broker.url", b.URL),
		checkAddress("broker.listen", b.Listen),
		when(b.MQTT != "" && len(checkAddress("", b.MQTT)) > 0, "broker.mqtt", "is not an address such as 127.0.0.1:1883"),
		when(b.Replicas != 1 && b.Replicas != 3 && b.Replicas != 5, "broker.replicas", "takes 1, 3 or 5"),
		when(b.SyncInterval != 0 && b.SyncInterval < time.Millisecond, "broker.sync_interval", "takes 0, which syncs every write, or 1ms and more"),
		when(b.User == "" && b.PasswordFile != "", "broker.password_file", "needs broker.user"),
		b.Cluster.check(),
	)
}

func (c *Cluster) check() []problem {
	if c.Listen == "" {
		return slices.Concat(
			when(c.Name != "", "broker.cluster.name", "needs broker.cluster.listen"),
			when(len(c.Routes) > 0, "broker.cluster.routes", "needs broker.cluster.listen"),
		)
	}
	problems := slices.Concat(
		checkAddress("broker.cluster.listen", c.Listen),
		when(c.Name == "", "broker.cluster.listen", "needs broker.cluster.name"),
		when((c.User == "") != (c.PasswordFile == ""), "broker.cluster.user", "and broker.cluster.password_file go together"),
	)
	for _, route := range c.Routes {
		problems = append(problems, checkURLs("broker.cluster.routes", route)...)
	}
	return problems
}

// check explains storage, which other systems use for another kind of store.
func (r *Registry) check(brokerURL string) []problem {
	problems := slices.Concat(
		atLeast(leastInterval, "registry.heartbeat_interval", r.HeartbeatInterval),
		atLeast(leastInterval, "registry.receipt_interval", r.ReceiptInterval),
		atLeast(leastInterval, "registry.probe_interval", r.ProbeInterval),
		atLeast(leastInterval, "registry.probe_retry", r.ProbeRetry),
		when(r.HeartbeatTTL <= r.HeartbeatInterval, "registry.heartbeat_ttl", "must be longer than registry.heartbeat_interval"),
	)
	if r.Storage == "" {
		return problems
	}
	if !strings.HasPrefix(r.Storage, "nats://") {
		const text = "takes a nats:// URL only: agents, capabilities and tasks are all kept in NATS; leave it out for the embedded broker"
		return append(problems, problem{"registry.storage", text})
	}
	return slices.Concat(problems, checkURLs("registry.storage", r.Storage),
		when(brokerURL != "" && brokerURL != r.Storage, "registry.storage", "names another broker than broker.url: give one of them"))
}

func (r *Router) check() []problem {
	problems := slices.Concat(oneOf("router.default_strategy", r.DefaultStrategy, strategies()...), r.Embeddings.check())
	named := make(map[string]float64)
	for i, weight := range r.ScoreWeights {
		factor := score.Factor(i).String()
		named[factor] = weight
		fits := weight >= 0 && !math.IsInf(weight, 0) // NaN fits nothing
		problems = append(problems, when(!fits, weightPrefix+factor, "is a weight: a number from 0 up")...)
	}
	if len(problems) > 0 {
		return problems
	}
	if _, err := score.ParseWeights(named); err != nil {
		return []problem{{strings.TrimSuffix(weightPrefix, "."), "do not add up: " + err.Error()}}
	}
	return nil
}

func (e *Embeddings) check() []problem {
	address, err := url.Parse(e.URL)
	isURL := err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
	return slices.Concat(
		when(e.URL != "" && !isURL, "router.embeddings.url", "is not a URL such as http://127.0.0.1:11434/v1"),
		when(e.URL != "" && e.Model == "", "router.embeddings.model", "is needed with router.embeddings.url"),
		when(e.URL == "" && e.Model != "", "router.embeddings.model", "needs router.embeddings.url"),
		atLeast(time.Millisecond, "router.embeddings.timeout", e.Timeout),
		when(!(e.MinSimilarity > 0 && e.MinSimilarity <= 1), "router.embeddings.min_similarity", "is above 0, and at most 1"),
	)
}

func (a *Adaptor) check() []problem {
	return slices.Concat(
		when(a.HTTPConnectTimeoutMS <= 0, "adaptor.http_connect_timeout_ms", "must be above 0"),
		when(a.HTTPReadTimeoutMS <= 0, "adaptor.http_read_timeout_ms", "must be above 0"),
		atLeast(leastInterval, "adaptor.ws_ping_interval", a.WSPingInterval),
	)
}

// longest is how long records may be kept: what the broker keeps for centuries it forgets at once, since it counts in nanoseconds.
const longest = 10 * 365 * 24 * time.Hour

func (l *Ledger) check() []problem {
	return slices.Concat(
		when(l.Retention < time.Second || l.Retention > longest, "ledger.retention", "takes 1s to 87600h, which is 10 years"),
		when(l.DeadLetters < time.Second || l.DeadLetters > longest, "ledger.dead_letters", "takes 1s to 87600h, which is 10 years"),
		when(l.MaxMessages <= 0, "ledger.max_messages", "must be above 0"),
		when(l.MaxBytes < 0, "ledger.max_bytes", "cannot be negative"),
		when(l.MaxBodyBytes < 1, "ledger.max_body_bytes", "is at least 1"),
	)
}

func (l *Limits) check() []problem {
	return slices.Concat(
		when(l.InlineBytes <= 0, "limits.inline_bytes", "must be above 0"),
		when(l.PayloadBytes < l.InlineBytes, "limits.payload_bytes", "must not be below limits.inline_bytes"),
		when(l.PayloadBytes > schemas.MaxBody, "limits.payload_bytes", "is at most 134217728, which is 128 MiB"),
		when(l.QueuePerCapability <= 0, "limits.queue_per_capability", "must be above 0"),
		when(l.QueuePerAgent <= 0, "limits.queue_per_agent", "must be above 0"),
		when(l.Schedules <= 0, "limits.schedules", "must be above 0"),
		atLeast(time.Millisecond, "limits.submit_wait", l.SubmitWait),
	)
}

func (c *Callbacks) check() []problem {
	return slices.Concat(
		checkPrefixes("callbacks.allow", c.Allow),
		checkPrefixes("callbacks.deny", c.Deny),
		atLeast(time.Millisecond, "callbacks.timeout", c.Timeout),
		atLeast(time.Millisecond, "callbacks.backoff", c.Backoff),
		when(c.BackoffCap < c.Backoff, "callbacks.backoff_cap", "must not be below callbacks.backoff"),
		when(c.Attempts <= 0, "callbacks.attempts", "must be above 0"),
		when(c.Concurrency <= 0, "callbacks.concurrency", "must be above 0"),
		when(c.PerReceiver <= 0, "callbacks.per_receiver", "must be above 0"),
	)
}

func checkPrefixes(key string, texts []string) []problem {
	if _, err := webhook.ParsePrefixes(texts); err != nil {
		return []problem{{key, "does not fit: " + err.Error()}}
	}
	return nil
}

// Addresses are where callbacks may go.
func (c *Callbacks) Addresses() (webhook.Addresses, error) {
	allow, err := webhook.ParsePrefixes(c.Allow)
	if err != nil {
		return webhook.Addresses{}, err
	}
	deny, err := webhook.ParsePrefixes(c.Deny)
	return webhook.Addresses{Allow: allow, Deny: deny}, err
}

func (l *Log) check() []problem {
	return slices.Concat(
		oneOf("log.level", l.Level, "debug", "info", "warn", "error"),
		oneOf("log.format", l.Format, "auto", "console", "json"),
	)
}

func when(wrong bool, key, text string) []problem {
	if wrong {
		return []problem{{key, text}}
	}
	return nil
}

// leastInterval bounds what is sent again and again: below it, workers and agents would do nothing else.
const leastInterval = 10 * time.Millisecond

func atLeast(least time.Duration, key string, d time.Duration) []problem {
	return when(d < least, key, fmt.Sprintf("must be %v or more", least))
}

func oneOf(key, value string, choices ...string) []problem {
	text := fmt.Sprintf("does not support %q; it takes %s", value, strings.Join(choices, ", "))
	return when(!slices.Contains(choices, value), key, text)
}

func checkAddress(key, address string) []problem {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return when(err != nil, key, "is not an address such as 127.0.0.1:4222")
}

// checkURLs never quotes a URL, which may hold a password.
func checkURLs(key, urls string) []problem {
	return when(urls != "" && !BrokerURL(urls), key, "is not a URL such as nats://broker:4222")
}

// BrokerURL is whether text names a broker, or several with commas between. The scheme may be left out.
func BrokerURL(text string) bool {
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		parsed, err := url.Parse(one)
		if err != nil || parsed.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, parsed.Scheme) {
			return false
		}
	}
	return true
}
