package adaptertest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Serve runs an HTTP server at address until the test ends.
func Serve(t *testing.T, address string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}
