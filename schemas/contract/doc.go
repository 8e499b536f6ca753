// Package contract compiles the JSON Schemas of capabilities and checks payloads and results against them. It alone imports the
// validator.
//
// A schema comes from people we do not know, and so does every value. Compile therefore first walks the document itself: nothing
// may point outside it, every pattern must compile, and its size, depth and expansion are bounded. Check first counts what the
// validator would have to do for this schema and this value, and refuses what is out of proportion, since the validator cannot be
// stopped. Both are safe for any number of goroutines.
//
// The draft is 2020-12 unless $schema names another standard one. Format is always asserted, whatever the draft; contentEncoding,
// contentMediaType and contentSchema never are. Patterns are RE2 (https://github.com/google/re2/wiki/Syntax): look-around and
// back-references do not compile. Numbers are compared exactly, however large.
//
// Messages are made here, from the place and the keyword that failed. They may quote the schema, never the value.
package contract
