// Package workerfile reads worker.yaml: the broker and the agents that a worker serves. It is strict: a key that it does not know is
// an error with its line and the nearest name, since a setting that is silently ignored is found out in production.
package workerfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// File is what a worker is told.
type File struct {
	Broker  Broker  `json:"broker,omitzero"`
	Journal string  `json:"journal,omitzero"` // a folder, or none
	Agents  []Agent `json:"agents"`
}

// NoJournal stands for a folder where there is to be none.
const NoJournal = "none"

// Broker is where the worker connects, and as whom.
type Broker struct {
	URL          string `json:"url,omitzero"`
	CredsFile    string `json:"creds_file,omitzero"`
	User         string `json:"user,omitzero"`
	PasswordFile string `json:"password_file,omitzero"`
	TokenFile    string `json:"token_file,omitzero"`
}

// Agent is a registration whose transport also says what only the worker needs to know.
type Agent struct {
	AgentID        string            `json:"agent_id"`
	Version        string            `json:"version,omitzero"` // semver; 0.0.0 when absent
	Service        string            `json:"service,omitzero"`
	MaxConcurrency int               `json:"max_concurrency,omitzero"`
	Transport      Transport         `json:"transport"`
	Capabilities   []schemas.Offer   `json:"capabilities"`
	Metadata       map[string]rawAny `json:"metadata,omitempty"`
	Groups         []string          `json:"groups,omitempty"`
	Priority       *int              `json:"priority,omitzero"`
	Intermittent   bool              `json:"intermittent,omitzero"`
}

// rawAny is any JSON value.
type rawAny = schemas.Payload

// defaultVersion is that of an agent whose owner names none.
const defaultVersion = "0.0.0"

// Read reads and checks a file. Its error names every problem found, each with its line.
func Read(path string) (*File, error) {
	content, err := smallfile.Read(path, smallfile.Text)
	if err != nil {
		return nil, fmt.Errorf("read worker file: %w", err)
	}
	return parse(path, content)
}

func parse(path string, content []byte) (*File, error) {
	file := new(File)
	doc, err := decode(path, content, file)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, problem := range file.Problems() {
		problems = append(problems, doc.at(problem))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	file.relativeTo(filepath.Dir(path))
	return file, nil
}

// Problems are all that is wrong with what the file says; each names its field by a JSON pointer in details.field.
func (f *File) Problems() []*schemas.Error {
	var problems []*schemas.Error
	if len(f.Agents) == 0 {
		problems = append(problems, wrong("/agents", "needs an agent"))
	}
	seen := make(map[string]bool)
	for i := range f.Agents {
		a, where := &f.Agents[i], fmt.Sprintf("/agents/%d", i)
		if seen[a.AgentID] {
			problems = append(problems, wrong(where+"/agent_id", "is there twice"))
		}
		seen[a.AgentID] = true
		problems = append(problems, a.problems(where)...)
	}
	return problems
}

func (a *Agent) problems(where string) []*schemas.Error {
	problems := a.Transport.problems(where + "/transport")
	r := a.Registration()
	r.InstanceID = "made-by-the-worker"
	if a.OffersTools() {
		r.Capabilities = []schemas.Offer{{ID: "known_later"}}
	}
	if problem := r.Check(); problem != nil {
		var field string
		problem.Detail("field", &field)
		problems = append(problems, problem.With("field", where+field))
	}
	return problems
}

func unless(fine bool, field, text string) []*schemas.Error {
	if fine {
		return nil
	}
	return []*schemas.Error{wrong(field, text)}
}

func wrong(field, text string) *schemas.Error {
	name := field[strings.LastIndex(field, "/")+1:]
	return schemas.NewError(schemas.InvalidArgument, "", "%s %s", name, text).With("field", field)
}

// Registration is what the agent declares. Credentials in its addresses stay with the worker.
func (a *Agent) Registration() *schemas.Registration {
	r := &schemas.Registration{
		AgentID: a.AgentID, Version: a.Version, Service: a.Service, MaxConcurrency: a.MaxConcurrency,
		Transport: schemas.Transport{
			Type: a.Transport.Type, Endpoint: withoutUser(a.Transport.Endpoint), HealthCheck: withoutUser(a.Transport.HealthCheck),
		},
		Capabilities: a.Capabilities, Groups: a.Groups, Priority: a.Priority, Intermittent: a.Intermittent,
	}
	if r.Version == "" {
		r.Version = defaultVersion
	}
	if a.Metadata != nil {
		r.Metadata = schemas.MustEncode(a.Metadata)
	}
	return r
}

func withoutUser(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(authority, "@"); found && at >= 0 {
		return scheme + "://" + strings.TrimSuffix(authority[at+1:]+"/"+path, "/")
	}
	return address
}

// relativeTo makes the paths of files and folders relative to where the file is. A command is found as a shell would find it.
func (f *File) relativeTo(dir string) {
	paths := []*string{&f.Broker.CredsFile, &f.Broker.PasswordFile, &f.Broker.TokenFile}
	if f.Journal != NoJournal {
		paths = append(paths, &f.Journal)
	}
	for i := range f.Agents {
		t := &f.Agents[i].Transport
		paths = append(paths, &t.Dir, &t.APIKeyFile, &t.DescriptorSet)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}
