package contract

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

// Bounds of a pattern: a short text can ask for a huge program.
const (
	maxPatternBytes  = 1 << 10
	maxPatternDetail = 10_000 // instructions of the compiled pattern
)

// patternSize compiles a pattern as the validator will and counts its instructions.
func patternSize(pattern string) (int, error) {
	if len(pattern) > maxPatternBytes {
		return 0, fmt.Errorf("it has %d bytes; %d is the limit", len(pattern), maxPatternBytes)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, patternError(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, patternError(err)
	}
	if len(program.Inst) > maxPatternDetail {
		return 0, fmt.Errorf("it has %d steps; %d is the limit", len(program.Inst), maxPatternDetail)
	}
	return len(program.Inst), nil
}

// patternError leaves out the pattern itself, which the pointer names.
func patternError(err error) error {
	var found *syntax.Error
	if errors.As(err, &found) {
		return fmt.Errorf("%s; the syntax is RE2's", found.Code)
	}
	return errors.New("it does not compile; the syntax is RE2's")
}

// isPattern is the format regex. Parsing alone does not build the program.
func isPattern(value any) bool {
	text, ok := value.(string)
	if !ok || len(text) > maxPatternBytes {
		return !ok
	}
	_, err := syntax.Parse(text, syntax.Perl)
	return err == nil
}
