//go:build unix

package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// calledBack: whoever wanted to be called back was told of the end, as it is; under one id, and never in two ways.
func (c *crowd) calledBack(p *proof) {
	p.t.Helper()
	var owed []string
	for id, task := range p.ended {
		if task.Callback != nil {
			owed = append(owed, id)
		}
	}
	brokertest.Eventually(p.t, "all callbacks are made", func() bool {
		c.callee.mu.Lock()
		defer c.callee.mu.Unlock()
		for _, id := range owed {
			if c.callee.told[id] == "" {
				return false
			}
		}
		return true
	})
	arrived, told := c.callee.count()
	c.callee.mu.Lock()
	defer c.callee.mu.Unlock()
	for _, fault := range c.callee.faults {
		p.t.Error(fault)
	}
	for id, body := range c.callee.told {
		task := new(schemas.Task)
		if err := schemas.Decode([]byte(body), task); err != nil || p.ended[id] == nil || lasting(task) != lasting(p.ended[id]) {
			p.t.Errorf("of %s a callback has told (%v)\n%s\nand the ledger has\n%v", id, err, body, p.ended[id])
		}
	}
	p.t.Logf("%d callbacks for %d tasks, %d ends told to a phone; %s", arrived, told, c.phone.hasHeard(p.t), p.shares())
}

// shares counts what each agent has executed.
func (p *proof) shares() string {
	counts, parts := make(map[string]int), []string(nil)
	for _, e := range readEffects(p.t, p.h.effects) {
		counts[e.agent]++
	}
	for _, agent := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s executed %d", agent, counts[agent]))
	}
	return strings.Join(parts, ", ")
}
