// Package redact says what may be said about a payload: its fingerprint, or itself with personal data and secrets masked.
//
// Mask replaces identity numbers of the People's Republic of China (18 digits with their check digit, and the old 15), mainland and
// international telephone numbers, e-mail addresses, card numbers, tokens, keys, and passwords by ***. It takes time that grows with
// the length of its input alone, and is stable: what it has masked it leaves as it is. It looks at forms, not at meanings; a secret
// that looks like a word is found only by the name beside it.
package redact
