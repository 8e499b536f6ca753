package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	textFile = "README.md"
	diffFile = "scripts/demo/testdata/broker_subscription.diff"
)

const farewell = `
Everything is stopped again. To do the same by hand, in two terminals:
  bin/reach up
  bin/reach worker --agent-id reviewer --capability code_review --exec bin/reviewdiff
and then read docs/quickstart.md.`

// play is the whole demo, scene by scene.
func play(ctx context.Context, s *stage) error {
	for _, scene := range []func(context.Context, *stage) error{houseScene, agentsScene, summaryScene, reviewScene} {
		if err := scene(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func houseScene(ctx context.Context, s *stage) error {
	s.say("1. reach up: broker, dispatcher and HTTP front, in one process.")
	data := filepath.Join(s.dir, "data")
	if err := s.spawn("house", "reach", "up", "--data", data, "--http", "127.0.0.1:0", "--nats", "127.0.0.1:0"); err != nil {
		return err
	}
	var where struct{ HTTP, NATS string }
	err := s.until(ctx, "the house is up", func() bool {
		content, err := os.ReadFile(filepath.Join(data, "endpoints.json"))
		return err == nil && json.Unmarshal(content, &where) == nil
	})
	if err != nil {
		return err
	}
	s.setenv("REACH_URL", where.NATS)
	s.say("   It is up: its API and documentation are at %s/docs.", where.HTTP)
	return nil
}

func agentsScene(ctx context.Context, s *stage) error {
	s.say("\n2. Two agents: a summariser behind HTTP, and a program that reviews diffs. A worker beside each makes it reachable.")
	if err := s.spawn("summarize", "summarize"); err != nil {
		return err
	}
	url := ""
	err := s.until(ctx, "the summariser listens", func() bool {
		url = strings.TrimSpace(s.said("summarize"))
		return strings.HasPrefix(url, "http://")
	})
	if err != nil {
		return err
	}
	err = s.spawn("worker 1", "reach", "worker", "--agent-id", "summarizer", "--capability", "summarize", "--http", url+"/run")
	if err != nil {
		return err
	}
	program := filepath.Join(s.bin, "reviewdiff")
	err = s.spawn("worker 2", "reach", "worker", "--agent-id", "reviewer", "--capability", "code_review", "--exec", program)
	if err != nil {
		return err
	}
	err = s.until(ctx, "both agents are online", func() bool {
		out, err := s.quietly(ctx, "reach", "agent", "list", "-o", "json")
		return err == nil && strings.Count(out, `"state":"online"`) == 2
	})
	if err != nil {
		return err
	}
	_, err = s.run(ctx, "reach", "agent", "list")
	return err
}

func summaryScene(ctx context.Context, s *stage) error {
	s.say("\n3. A summary of this repository's %s: submitted now, asked for later.", textFile)
	text, err := os.ReadFile(textFile)
	if err != nil {
		return err
	}
	payload, err := s.payload("text.json", map[string]any{"text": prose(string(text)), "max_sentences": 2})
	if err != nil {
		return err
	}
	out, err := s.run(ctx, "reach", "task", "submit", "summarize", "-d", "@"+payload)
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(out, " ")
	err = s.until(ctx, "the summary is there", func() bool {
		out, err := s.quietly(ctx, "reach", "task", "get", id, "-o", "json")
		return err == nil && strings.Contains(out, `"state":"completed"`)
	})
	if err != nil {
		return err
	}
	_, err = s.run(ctx, "reach", "task", "get", id)
	return err
}

// prose is a Markdown text without its code, headings and tables: what there is to summarise.
func prose(markdown string) string {
	var text strings.Builder
	code := false
	for line := range strings.Lines(markdown) {
		fence := strings.HasPrefix(line, "```")
		code = code != fence
		if !fence && !code && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "|") {
			text.WriteString(line)
		}
	}
	return text.String()
}

func reviewScene(ctx context.Context, s *stage) error {
	s.say("\n4. A review of a change to this repository: this time we wait for the result.")
	diff, err := os.ReadFile(diffFile)
	if err != nil {
		return err
	}
	payload, err := s.payload("diff.json", map[string]any{"diff": string(diff)})
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, "reach", "task", "submit", "code_review", "-d", "@"+payload, "--wait", "30s"); err != nil {
		return err
	}
	s.say("\n5. The trace of the review, hop by hop.")
	out, err := s.quietly(ctx, "reach", "task", "list", "--capability", "code_review", "-o", "json")
	if err != nil {
		return err
	}
	var page struct {
		Items []struct {
			TaskID string `json:"task_id"`
		}
	}
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Items) != 1 {
		return fmt.Errorf("the review is not among the tasks: %w", err)
	}
	_, err = s.run(ctx, "reach", "trace", page.Items[0].TaskID)
	return err
}

// patience is how long a step may take.
const patience = 20 * time.Second
