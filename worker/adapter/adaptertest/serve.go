package adaptertest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Serve runs an HTTP agent at address until the test ends.
func Serve(t *testing.T, address string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	return ServeOn(t, Listen(t, address), handler)
}

// ServeOn is Serve where a listener listens.
func ServeOn(t *testing.T, listener net.Listener, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Listen is a listener at address, which an agent is to close.
func Listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// Again listens where a listener listens that is about to be closed: at no time is the address free for anybody else.
func Again(t *testing.T, listener net.Listener) net.Listener {
	t.Helper()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	again, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	return again
}
