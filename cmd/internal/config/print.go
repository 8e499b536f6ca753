package config

import (
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// Item is one setting as it stands.
type Item struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Items are all settings, in the order of the sections, with passwords masked.
func (s *Settings) Items() []Item {
	var items []Item
	s.set.VisitAll(func(f *pflag.Flag) {
		items = append(items, Item{Key: f.Name, Value: shown(f.Value), Source: s.Source(f.Name)})
	})
	return items
}

func shown(value pflag.Value) string {
	list, ok := value.(pflag.SliceValue)
	if !ok {
		return MaskURLs(value.String())
	}
	var masked []string
	for _, one := range list.GetSlice() {
		masked = append(masked, MaskURLs(one))
	}
	return strings.Join(masked, ",")
}

// MaskURLs hides the credentials of URLs, several with commas between included; any other text stays as it is.
func MaskURLs(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = maskURL(part)
	}
	return strings.Join(parts, ",")
}

// maskURL also masks what no parser takes for a URL, as a password with odd characters makes it.
func maskURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	at := strings.LastIndex(rest, "@")
	if !found || at < 0 {
		return text
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if _, hasPassword := u.User.Password(); hasPassword {
			return scheme + "://" + u.User.Username() + ":***" + rest[at:]
		}
	}
	return scheme + "://***" + rest[at:]
}
