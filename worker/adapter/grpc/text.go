package grpc

import "unsafe"

// Our own service carries JSON as text, and the house as bytes that nobody changes. A large payload or result is not copied from the one to
// the other.

func text(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
