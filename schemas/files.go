package schemas

import (
	"embed"
	"path"
	"strings"
)

// files are the JSON Schemas (draft 2020-12) of the messages. Each stands alone, and none refuses members that it does not know.
//
//go:embed jsonschema/*.json
var files embed.FS

const filesDir = "jsonschema"

// SchemaFile is the JSON Schema of a message, such as reach_message or task.
func SchemaFile(name string) ([]byte, bool) {
	file, err := files.ReadFile(path.Join(filesDir, name+".json"))
	return file, err == nil
}

// SchemaNames lists the messages that have a JSON Schema, sorted.
func SchemaNames() []string {
	entries, _ := files.ReadDir(filesDir) // an embedded folder is always there
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".json"))
	}
	return names
}
