package broker

import (
	"github.com/nats-io/nats.go"
)

// Follow calls fn with what the ledger says it has stored, in the order in which it arrives. This is a hint: events can be lost,
// doubled or overtaken. fn should be quick.
func (l *Ledger) Follow(fn func(Entry)) (*Subscription, error) {
	return l.conn.follow(feedSubjects, fn)
}

// FollowAssigned calls fn with the assignments to one agent as soon as they are stored. This is a hint, as in Follow.
func (c *Conn) FollowAssigned(agent string, fn func(Entry)) (*Subscription, error) {
	return c.follow(assignedFeed(agent), fn)
}

func (c *Conn) follow(subject string, fn func(Entry)) (*Subscription, error) {
	if c.cfg.Disturb != nil {
		fn = c.cfg.Disturb(fn)
	}
	return c.subscribe(subject, func(m *nats.Msg) {
		e, err := feedEntry(m)
		if err != nil {
			c.log.Warn().Err(err).Msg("feed message skipped")
			return
		}
		fn(e)
	})
}

// feedEntry reads a message of the feed. The subject on which it came is the one that the broker has checked, so it counts.
func feedEntry(m *nats.Msg) (Entry, error) {
	s, err := readDirect(m)
	if err != nil {
		return Entry{}, err
	}
	s.subject = m.Subject
	return entryOf(s)
}
