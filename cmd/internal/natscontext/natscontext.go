// Package natscontext reads the contexts of the nats command line tool: named sets of a URL and credentials, kept as JSON files in
// the user's configuration folder. Reach only reads them; `nats context` writes them.
package natscontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// Context is what a context file says that reach can act on.
type Context struct {
	Name        string `json:"-"`
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Token       string `json:"token"`
	Creds       string `json:"creds"`
	InboxPrefix string `json:"inbox_prefix"`
}

// unsupported are the members that say how to connect and that reach does not act on. To leave one out would connect in another
// way than the context means.
type unsupported struct {
	NKey       string `json:"nkey"`
	NSC        string `json:"nsc"`
	UserJWT    string `json:"user_jwt"`
	Cert       string `json:"cert"`
	Key        string `json:"key"`
	CA         string `json:"ca"`
	SocksProxy string `json:"socks_proxy"`
	TLSFirst   bool   `json:"tls_first"`
}

// Dir is the folder that holds the contexts, in an environment as read by getenv.
func Dir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "nats")
	}
	return filepath.Join(getenv("HOME"), ".config", "nats")
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_. -]*$`)

// Load is the context of that name.
func Load(dir, name string) (*Context, error) {
	if !contextName.MatchString(name) || strings.Contains(name, "..") {
		return nil, errors.New("this is not the name of a nats context")
	}
	path := filepath.Join(dir, "context", name+".json")
	content, err := smallfile.Read(path, smallfile.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no nats context %q%s", name, others(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("read nats context: %w", err)
	}
	return parse(name, path, content)
}

// parse never lets the decoder's own words out, since they may quote the file.
func parse(name, path string, content []byte) (*Context, error) {
	c, rest := &Context{Name: name}, unsupported{}
	if json.Unmarshal(content, c) != nil || json.Unmarshal(content, &rest) != nil {
		return nil, fmt.Errorf("%s is not a nats context", path)
	}
	if member := rest.first(); member != "" {
		return nil, fmt.Errorf("nats context %q has %q, which reach does not support; use one with creds, or --server and --creds",
			name, member)
	}
	c.Creds = home(c.Creds)
	return c, nil
}

// first is the name of a member that is set; empty if none is.
func (u unsupported) first() string {
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"nkey", u.NKey != ""},
		{"nsc", u.NSC != ""},
		{"user_jwt", u.UserJWT != ""},
		{"cert", u.Cert != ""},
		{"key", u.Key != ""},
		{"ca", u.CA != ""},
		{"socks_proxy", u.SocksProxy != ""},
		{"tls_first", u.TLSFirst},
	} {
		if member.set {
			return member.name
		}
	}
	return ""
}

// Selected is the context that `nats context select` chose; nil if it chose none.
func Selected(dir string) (*Context, error) {
	content, err := os.ReadFile(filepath.Join(dir, "context.txt"))
	name := strings.TrimSpace(string(content))
	if errors.Is(err, fs.ErrNotExist) || err == nil && name == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read selected nats context: %w", err)
	}
	return Load(dir, name)
}

// Names are the contexts that exist.
func Names(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "context", "*.json")) // the pattern is well formed
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	slices.Sort(names)
	return names
}

func others(dir string) string {
	if names := Names(dir); len(names) > 0 {
		return "; there are " + strings.Join(names, ", ")
	}
	return " in " + filepath.Join(dir, "context")
}

func home(path string) string {
	if rest, found := strings.CutPrefix(path, "~/"); found {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return path
}
