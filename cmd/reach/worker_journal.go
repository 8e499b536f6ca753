package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
)

// journalDir is the folder of a worker's journal, empty for none: the one that was said or, where none was, one of the user's state
// that belongs to these agents at this broker. One that nobody has asked for and that cannot be made is done without.
func (a *app) journalDir(said string, agentIDs []string, brokerURL string, log zerolog.Logger) string {
	switch said {
	case workerfile.NoJournal:
		return ""
	case "":
	default:
		return said
	}
	state, err := a.stateDir()
	dir := filepath.Join(state, "reach", "worker", journalName(agentIDs, brokerURL))
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		log.Warn().Err(err).Msg("no journal: a kill of this process may cost results; --journal FOLDER gives it one")
		return ""
	}
	return dir
}

// stateDir is where programs keep what they have to remember between two runs.
func (a *app) stateDir() (string, error) {
	if dir := a.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state"), nil
}

// maxJournalName is the longest name that is readable in a listing.
const maxJournalName = 80

// journalName names the agents and their broker, in any order, as a folder.
func journalName(agentIDs []string, brokerURL string) string {
	name := strings.Join(slices.Sorted(slices.Values(agentIDs)), "+") + "@" + strings.Join(slices.Sorted(slices.Values(hosts(brokerURL))), "+")
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("+@.-", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if len(plain) <= maxJournalName {
		return plain
	}
	sum := sha256.Sum256([]byte(name))
	return plain[:maxJournalName-17] + "-" + hex.EncodeToString(sum[:8])
}

// hosts are the servers of a broker, without scheme and credentials.
func hosts(brokerURL string) []string {
	var all []string
	for url := range strings.SplitSeq(brokerURL, ",") {
		url = strings.TrimSpace(url)
		url = url[strings.LastIndex(url, "@")+1:]
		_, host, found := strings.Cut(url, "://")
		if !found {
			host = url
		}
		all = append(all, strings.TrimSuffix(host, "/"))
	}
	return all
}
