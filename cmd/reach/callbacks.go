package main

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/callback"
	"github.com/agentreach/agent-reach/dispatcher/webhook"
	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// callbacks are made by one sender, whose secrets are as their file says.
type callbacks struct {
	secrets watched
	sender  *webhook.Sender // nil: there are none
	log     zerolog.Logger
}

// newCallbacks reads the secrets for the first time: a bad file is an error. Without one there are no callbacks.
func newCallbacks(s *config.Callbacks, log zerolog.Logger) (*callbacks, error) {
	c := &callbacks{secrets: watched{file: s.SecretFile}, log: log}
	if s.SecretFile == "" {
		return c, nil
	}
	c.secrets.look()
	secrets, err := readSecrets(s.SecretFile)
	if err != nil {
		return nil, badFile(err)
	}
	addresses, err := s.Addresses()
	if err != nil {
		return nil, err
	}
	c.sender = webhook.New(webhook.Config{
		Secrets: secrets, Addresses: addresses, Timeout: s.Timeout, UserAgent: "agent-reach/" + version,
	})
	return c, nil
}

// config is what the dispatcher needs to know of them.
func (c *callbacks) config(s *config.Callbacks) dispatcher.CallbackConfig {
	return dispatcher.CallbackConfig{
		Sender: c.sender, Attempts: s.Attempts, BackoffBase: s.Backoff, BackoffCap: s.BackoffCap,
		Limits: callback.Limits{Total: s.Concurrency, PerReceiver: s.PerReceiver},
	}
}

// follow reads the secrets again whenever their file has changed, until ctx ends. A bad file is refused, and those before stay.
func (c *callbacks) follow(ctx context.Context) error { return c.secrets.follow(ctx, c.again) }

func (c *callbacks) again() {
	secrets, err := readSecrets(c.secrets.file)
	if err != nil {
		c.log.Error().Err(err).Msg("the secrets of callbacks were not read again; those before stay")
		return
	}
	c.sender.SetSecrets(secrets)
	c.log.Info().Str("file", c.secrets.file).Msg("secrets of callbacks read again")
}

func (c *callbacks) close() {
	if c.sender != nil {
		c.sender.Close()
	}
}

func readSecrets(file string) (webhook.Secrets, error) {
	text, err := smallfile.Read(file, smallfile.Secret)
	if err != nil {
		return webhook.Secrets{}, fmt.Errorf("read the secrets of callbacks: %w", err)
	}
	secrets, err := webhook.ParseSecrets(string(text))
	if err != nil {
		return webhook.Secrets{}, fmt.Errorf("%s: %w", file, err)
	}
	return secrets, nil
}
