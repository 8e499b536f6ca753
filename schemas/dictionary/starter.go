package dictionary

import (
	_ "embed"
	"sync"

	"github.com/agentreach/agent-reach/schemas"
)

//go:embed starter.yaml
var starterFile []byte

var starter = sync.OnceValues(func() ([]schemas.Capability, error) { return parse("starter.yaml", starterFile) })

// Starter lists the capabilities that every dictionary starts with, prepared and sorted by id.
func Starter() []schemas.Capability {
	list, err := starter()
	if err != nil {
		panic("the starter set does not parse: " + err.Error())
	}
	d, err := New(list)
	if err != nil {
		panic("the starter set is not a dictionary: " + err.Error())
	}
	return d.List()
}
