package httpcall

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultConnectTimeout = 3 * time.Second
	defaultIdleTimeout    = 30 * time.Second
	defaultMaxConns       = 256
	maxIdleConns          = 16
	maxHeaderBytes        = 64 << 10
	idleTimeout           = 30 * time.Second
)

// WithDefaults is c with what it leaves open.
func (c Config) WithDefaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTimeout)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, defaultIdleTimeout)
	c.MaxConns = cmp.Or(c.MaxConns, defaultMaxConns)
	return c
}

// Transport speaks HTTP/1.1 only: there, one connection carries one request at a time, so that what was written on it and its end
// belong to that request. Nothing is decompressed: we ask for nothing compressed, and the limit on answers means what it says.
func (c Config) Transport() *http.Transport {
	dialer := &net.Dialer{
		Timeout: c.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3,
		},
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  c.Proxy,
		DialContext:            counted(dialer),
		TLSClientConfig:        c.TLS,
		TLSHandshakeTimeout:    c.ConnectTimeout,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		MaxConnsPerHost:        c.MaxConns,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// ParseURL takes absolute http and https URLs. Its error never quotes one: it may hold a password.
func ParseURL(what, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an absolute http or https URL", what)
	}
	u.Fragment = ""
	return u, nil
}

// Headers are those of a configuration and a URL's user, in the form that goes out.
func Headers(configured map[string]string, user *url.Userinfo) (http.Header, error) {
	header := make(http.Header, len(configured)+1)
	if user != nil {
		password, _ := user.Password()
		pair := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		header.Set("Authorization", "Basic "+pair)
	}
	for name, value := range configured {
		if err := checkHeader(name, value); err != nil {
			return nil, err
		}
		header.Set(name, value)
	}
	return header, nil
}

// ours are the headers that a configuration cannot set: they say what the task is, or belong to the connection.
var ours = map[string]bool{
	"Reach-Task-Id": true, "Reach-Capability": true, "Reach-Attempt": true, "Reach-Deadline": true, "Idempotency-Key": true,
	"Traceparent": true, "Connection": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Te": true, "Keep-Alive": true,
}

func checkHeader(name, value string) error {
	if ours[http.CanonicalHeaderKey(name)] {
		return fmt.Errorf("header %s is set by the worker itself", name)
	}
	if name == "" || strings.ContainsFunc(name, notToken) {
		return fmt.Errorf("%q is not the name of a header", name)
	}
	if !headerText(value) {
		return fmt.Errorf("the value of header %s has control characters", name)
	}
	return nil
}

func notToken(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func headerText(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
