package topodiff_test

import (
	"testing"

	"sstool/internal/worldtest"
)

// TestRealShapes: what TestCallsKeepNames compares is what every version prints.
func TestRealShapes(t *testing.T) {
	worldtest.Require(t)
	for _, shape := range []string{"base", "shifted", "pinned", "named"} {
		worldtest.SamePrint(t, "Shapes", "testdata/dsl/Shapes.java", "testdata/dsl/"+shape+".txt", shape)
	}
}
