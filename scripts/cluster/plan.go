package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// service is one service of the compose file as a process of this machine.
type service struct {
	name    string
	command []string // the program first
	health  []string // asks whether it is well; empty: it is, as soon as it runs
	after   []string // services that must be well before it starts
	ports   []string // where its published ports are now
}

// load reads a compose file as docker compose would.
func load(ctx context.Context, file string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return project, nil
}

// plan turns what a compose file says of containers into what holds for processes that share one machine: an address host:port
// becomes one of the loopback interface, the same one wherever the two are named; a path in a container becomes one in dir or bin.
type plan struct {
	project  *types.Project
	bin, dir string
	free     func() (string, error) // an address that nobody uses
	places   map[place]string       // addresses taken so far
}

// place is a port in a container.
type place struct{ service, port string }

func newPlan(project *types.Project, bin, dir string, free func() (string, error)) *plan {
	return &plan{project: project, bin: bin, dir: dir, free: free, places: make(map[place]string)}
}

// services are all of the file, by name.
func (p *plan) services() ([]service, error) {
	var all []service
	for _, name := range slices.Sorted(maps.Keys(p.project.Services)) {
		s, err := p.service(p.project.Services[name])
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func (p *plan) service(c types.ServiceConfig) (service, error) {
	mounted, err := p.mount(c)
	if err != nil {
		return service{}, err
	}
	entrypoint := []string(c.Entrypoint)
	if len(entrypoint) == 0 {
		entrypoint = []string{"/reach"}
	}
	s := service{name: c.Name, after: slices.Sorted(maps.Keys(c.DependsOn))}
	s.command, err = p.words(c, mounted, slices.Concat(entrypoint, c.Command))
	if err != nil {
		return service{}, err
	}
	if c.HealthCheck != nil && len(c.HealthCheck.Test) > 1 {
		s.health, err = p.words(c, mounted, c.HealthCheck.Test[1:])
	}
	for _, port := range c.Ports {
		address, placeErr := p.place(place{network(c), fmt.Sprint(port.Target)})
		if placeErr != nil {
			return service{}, placeErr
		}
		s.ports = append(s.ports, address)
	}
	return s, err
}

// network is the service whose network the service has: its own, or the one that it shares.
func network(c types.ServiceConfig) string {
	if other, shares := strings.CutPrefix(c.NetworkMode, "service:"); shares {
		return other
	}
	return c.Name
}

// mount makes what is mounted into a service, and returns it by its path there.
func (p *plan) mount(c types.ServiceConfig) (map[string]string, error) {
	mounted := make(map[string]string)
	for _, volume := range c.Volumes {
		mounted[volume.Target] = filepath.Join(p.dir, volume.Source)
	}
	for _, secret := range c.Secrets {
		path, err := p.secret(secret.Source)
		if err != nil {
			return nil, err
		}
		mounted["/run/secrets/"+secret.Source] = path
	}
	for _, config := range c.Configs {
		path, err := p.config(c, config.Source)
		if err != nil {
			return nil, err
		}
		mounted[config.Target] = path
	}
	return mounted, nil
}

// secret is a file with a secret of this run alone.
func (p *plan) secret(name string) (string, error) {
	path := filepath.Join(p.dir, "secret-"+name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, os.WriteFile(path, []byte(rand.Text()), 0o600)
}

// config is a copy of a configuration file whose addresses are those of this run.
func (p *plan) config(c types.ServiceConfig, name string) (string, error) {
	content, err := os.ReadFile(p.project.Configs[name].File)
	if err != nil {
		return "", err
	}
	text, err := p.readdress(c, string(content))
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.dir, "config-"+name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// words rewrites a command line.
func (p *plan) words(c types.ServiceConfig, mounted map[string]string, words []string) ([]string, error) {
	rewritten := make([]string, 0, len(words))
	for _, word := range words {
		word, err := p.readdress(c, word)
		if err != nil {
			return nil, err
		}
		flag, value, assigned := strings.Cut(word, "=")
		if !assigned {
			flag, value = "", word
		}
		value = p.path(mounted, value)
		if assigned {
			value = flag + "=" + value
		}
		rewritten = append(rewritten, value)
	}
	return rewritten, nil
}

// path is where what a container has at a path is here.
func (p *plan) path(mounted map[string]string, path string) string {
	if here := mounted[path]; here != "" {
		return here
	}
	if path == "/reach" || strings.HasPrefix(path, "/agents/") {
		return filepath.Join(p.bin, filepath.Base(path))
	}
	return path
}

// addresses are all host:port of a text.
var addresses = regexp.MustCompile(`[A-Za-z0-9.-]+:[0-9]+\b`)

// readdress gives every address of a service's text its place on this machine. What is no address of the file stays.
func (p *plan) readdress(c types.ServiceConfig, text string) (string, error) {
	var problem error
	text = addresses.ReplaceAllStringFunc(text, func(address string) string {
		host, port, _ := net.SplitHostPort(address)
		if host == "0.0.0.0" || host == "127.0.0.1" {
			host = network(c)
		}
		if _, known := p.project.Services[host]; !known {
			return address
		}
		here, err := p.place(place{host, port})
		if err != nil {
			problem = err
		}
		return here
	})
	return text, problem
}

// place is where a port of a container is on this machine.
func (p *plan) place(at place) (string, error) {
	if address := p.places[at]; address != "" {
		return address, nil
	}
	address, err := p.free()
	if err != nil {
		return "", err
	}
	p.places[at] = address
	return address, nil
}
