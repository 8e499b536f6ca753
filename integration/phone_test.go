package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPhoneAppInJavaScript has the example app of docs/mqtt.md, on MQTT.js, serve tasks and submit them.
func TestAPhoneAppInJavaScript(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join("foreign", "node", "node_modules", "mqtt")); err != nil {
		t.Skip("MQTT.JS IS NOT INSTALLED: make foreign")
	}
	app, err := filepath.Abs(filepath.Join("foreign", "node", "phone.js"))
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, buildPrograms(t))
	r.background("reach up --mqtt 127.0.0.1:1883")
	app = "node '" + app + "' --mqtt " + r.mqtt
	r.background(app + " --device phone-1 --serve echo")
	r.online("--agent-id phone-1")
	for _, tt := range []struct{ name, message, want string }{
		{"a result", `{"capability":"echo","payload":{"hello":"world"}}`, `"result":{"hello":"world"}`},
		{"a refusal", `{"capability":"nonsense"}`, `"code":"NOT_FOUND"`},
	} {
		if out, err := r.run(app + " --device phone-2 --submit '" + tt.message + "'"); err != nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %s (%v)", tt.name, out, err)
		}
	}
}
