package httpfront_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
)

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	handler, err := httpfront.New(httpfront.Config{Service: fronttest.New()}) // a dispatcher, in earnest
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- httpfront.Server{Handler: handler}.Run(ctx, listener) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post("http://"+listener.Addr().String()+"/v1/reach", "application/json",
		strings.NewReader(`{"capability": "echo", "payload": "hello"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	response.Body.Close()
	fmt.Println(response.Status)

	stop()
	fmt.Println(<-done)
	// Output:
	// 200 OK
	// <nil>
}
