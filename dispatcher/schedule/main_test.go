package schedule_test

import (
	"testing"
	_ "time/tzdata" // so that it does not matter what the machine has

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
