package dictionary

import (
	"cmp"
	_ "embed"
	"slices"
	"sync"

	"github.com/agentreach/agent-reach/schemas"
)

//go:embed starter.yaml
var starterFile []byte

var starter = sync.OnceValue(func() []schemas.Capability {
	list, err := parse("starter.yaml", starterFile)
	if err != nil {
		panic("the starter set is not a dictionary: " + err.Error())
	}
	slices.SortFunc(list, func(a, b schemas.Capability) int { return cmp.Compare(a.ID, b.ID) })
	return list
})

// Starter lists the capabilities that every dictionary starts with, prepared and sorted by id.
func Starter() []schemas.Capability { return slices.Clone(starter()) }
