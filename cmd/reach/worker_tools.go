package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
)

// askAgain is the pause before a dictionary that did not answer is asked for again.
const askAgain = 500 * time.Millisecond

// keepKnown has the agents on MCP servers go by the dictionary: the ones whose servers named their capabilities lose the tools that
// it does not have, for a registration may name none of these; the ones that must find a place for the texts of their tools learn
// what results are. It waits for a dispatcher to say what there is; a worker that may not ask keeps all.
func (a *agents) keepKnown(ctx context.Context, conn *broker.Conn, log zerolog.Logger) error {
	if len(a.named)+len(a.texts) == 0 {
		return nil
	}
	known, err := dictionaryOf(ctx, conn, log)
	if err != nil || known == nil {
		return err
	}
	for _, of := range a.texts {
		of.Expect(known)
	}
	for _, i := range a.named {
		if err := keepKnownOf(&a.served[i].Registration, known, log); err != nil {
			return err
		}
	}
	return nil
}

func keepKnownOf(r *schemas.Registration, known map[string]jsontext.Value, log zerolog.Logger) error {
	kept, strangers := splitOffers(r.Capabilities, known)
	if len(kept) == 0 {
		return schemas.NewError(schemas.InvalidArgument, "NO_TOOLS",
			"agent %s: none of its server's tools is a capability: %s; %s", r.AgentID, strings.Join(strangers, ", "), howToOffer)
	}
	if len(strangers) > 0 {
		log.Info().Str("agent_id", r.AgentID).Strs("tools", strangers).Msg("tools that are no capability are not offered: " + howToOffer)
	}
	r.Capabilities = kept
	return nil
}

// howToOffer is how a tool becomes a capability.
const howToOffer = "say which one is which (--tool TOOL=CAPABILITY, or tools in worker.yaml), or add them (reach capability add)"

// splitOffers are the offers that the dictionary knows, and the names of the others.
func splitOffers(offers []schemas.Offer, known map[string]jsontext.Value) (kept []schemas.Offer, strangers []string) {
	for _, offer := range offers {
		if _, found := known[offer.ID]; found {
			kept = append(kept, offer)
		} else {
			strangers = append(strangers, offer.ID)
		}
	}
	return kept, strangers
}

// dictionaryOf is which capabilities there are, with the schemas of their results; nil where this worker may not know.
func dictionaryOf(ctx context.Context, conn *broker.Conn, log zerolog.Logger) (map[string]jsontext.Value, error) {
	told := false
	for {
		known, err := askDictionary(ctx, conn)
		if err == nil {
			return known, nil
		}
		if code := schemas.AsError(err).Code; code == schemas.PermissionDenied || code == schemas.Unauthenticated {
			return nil, nil
		}
		if !told {
			log.Warn().Err(err).Msg("no dispatcher says yet which capabilities there are; trying again")
			told = true
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func askDictionary(ctx context.Context, conn *broker.Conn) (map[string]jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	reply, err := conn.Request(ctx, broker.SubjectAPI("capability", "list"), []byte("{}"))
	if err != nil {
		return nil, err
	}
	var page schemas.CapabilityPage
	if err := schemas.Decode(reply, &page); err != nil {
		return nil, err
	}
	known := make(map[string]jsontext.Value, len(page.Items))
	for i := range page.Items {
		known[page.Items[i].ID] = page.Items[i].OutputSchema
	}
	return known, nil
}

// toolsOf reads TOOL=CAPABILITY pairs.
func toolsOf(pairs []string) (map[string]string, bool) {
	if len(pairs) == 0 {
		return nil, true
	}
	tools := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		tool, capability, found := strings.Cut(pair, "=")
		if !found || tool == "" || capability == "" {
			return nil, false
		}
		tools[tool] = capability
	}
	return tools, true
}

// idOf makes an agent_id for an agent whose owner gives none: of this machine's name and of how the agent is reached.
func idOf(host string, t *workerfile.Transport) string {
	what := t.Model
	switch {
	case what != "":
	case len(t.Command) > 0:
		what = programOf(t.Command)
	default:
		_, rest, found := strings.Cut(t.Endpoint, "://")
		if !found {
			rest = t.Endpoint
		}
		what = rest[strings.LastIndex(rest, "@")+1:]
	}
	return label(host + "-" + what)
}

// runners are programs that are given another one to run.
var runners = []string{"npx", "npm", "node", "uvx", "uv", "python", "python3", "sh", "bash", "env", "exec", "run", "x"}

// programOf is the name of what a command line runs.
func programOf(command []string) string {
	for _, word := range command {
		name := word[strings.LastIndex(word, "/")+1:]
		if name != "" && !strings.HasPrefix(name, "-") && !slices.Contains(runners, name) {
			return name
		}
	}
	return command[0]
}

// maxLabel is the length of an agent_id.
const maxLabel = 63

// label is text as a name of the house: lower-case letters, digits and single dashes.
func label(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
	}
	name := b.String()
	return strings.Trim(name[:min(len(name), maxLabel)], "-")
}
