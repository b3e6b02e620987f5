package lint_test

import (
	"testing"

	"sstool/internal/worldtest"
)

// TestRealNaming: what TestNamingAsKafkaDoes reads is what every version prints.
func TestRealNaming(t *testing.T) {
	worldtest.Require(t)
	worldtest.SamePrint(t, "Naming", "testdata/naming/Naming.java", "testdata/naming/naming.txt")
}
