package main

// What the operating system has elsewhere is part of the binary, so that it also runs where there is nothing else: in an image made
// from scratch. The system's own certificates and time zones come first where they exist.
import (
	_ "time/tzdata" // time zones

	_ "golang.org/x/crypto/x509roots/fallback" // certificates of the public authorities
)
