package dispatcher

import (
	"context"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/meaning"
	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

const (
	maxNear    = 3           // suggestions for an intent that means nothing
	learnEvery = time.Second // how often it is looked whether there is something new that intents may mean
)

// match finds what a message asks for, by its words, and where these are not known by its meaning. Where the endpoint for that does
// not answer, the words alone count.
func (d *Dispatcher) match(ctx context.Context, m *schemas.ReachMessage) (route.Match, *schemas.Error) {
	words, table := d.dictionary.Load(), d.routes.Load()
	match, problem := table.Match(m, words)
	if problem == nil || problem.Code != schemas.NotFound || m.Capability != "" || d.cfg.Meaning == nil {
		return match, problem
	}
	ranked, err := d.cfg.Meaning.Rank(ctx, m.Intent, meanings(table.Intents(m), words))
	if err != nil {
		d.log.Debug().Err(err).Msg("an intent was compared by its words alone")
		return match, problem
	}
	if len(ranked) == 0 || ranked[0].Similarity < d.cfg.Meaning.Least() {
		return match, dictionary.NotFoundNear(m.Intent, namesOf(ranked[:min(len(ranked), maxNear)]))
	}
	meant := *m
	meant.Intent = ranked[0].Name
	if match, problem = table.Match(&meant, words); problem == nil {
		match.Rule, match.Meant, match.Similarity = route.ByMeaning, ranked[0].Name, ranked[0].Similarity
	}
	return match, problem
}

func namesOf(ranked []meaning.Ranked) []string {
	names := make([]string, len(ranked))
	for i, r := range ranked {
		names[i] = r.Name
	}
	return names
}

// meanings are what an intent may mean: the intents of routes, and the capabilities with all that is said of them.
func meanings(intents []string, words *dictionary.Dictionary) []meaning.Candidate {
	var all []meaning.Candidate
	for _, intent := range intents {
		all = append(all, meaning.Candidate{Name: intent, Text: intent})
	}
	for _, c := range words.List() {
		text := strings.ReplaceAll(c.ID, "_", " ") + ". " + c.Description
		if len(c.Aliases) > 0 {
			text += " Also called " + strings.ReplaceAll(strings.Join(c.Aliases, ", "), "_", " ") + "."
		}
		all = append(all, meaning.Candidate{Name: c.ID, Text: text})
	}
	return all
}

// meaningLoop has what intents may mean ready, so that a submit waits for its own intent alone.
func (d *Dispatcher) meaningLoop(ctx context.Context) error {
	if d.cfg.Meaning == nil {
		return nil
	}
	var words *dictionary.Dictionary
	var table *route.Table
	return d.every(ctx, learnEvery, func() {
		if now, routes := d.dictionary.Load(), d.routes.Load(); now != words || routes != table {
			words, table = now, routes
			d.inBackground(func(ctx context.Context) { d.learnMeanings(ctx, routes, now) })
		}
	})
}

func (d *Dispatcher) learnMeanings(ctx context.Context, table *route.Table, words *dictionary.Dictionary) {
	var intents []string
	for _, r := range table.Routes() {
		if r.Match.Intent != "" {
			intents = append(intents, r.Match.Intent)
		}
	}
	if err := d.cfg.Meaning.Learn(ctx, meanings(intents, words)); err != nil {
		d.log.Warn().Err(err).Msg("the embeddings endpoint could not be used: intents are compared by their words until it can")
	}
}
