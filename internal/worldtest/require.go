package worldtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Newest and Oldest are the ends of the supported range that the
// representative suite runs; Versions is the matrix.
const (
	Newest = "4.4.0"
	Oldest = "3.9.2"
)

// Versions are the Kafka Streams versions of the matrix, oldest first. 4.2.2
// would restore windows by a rule of its own: from the newest of the last 128
// records that hold any, minus the retention, under both guarantees.
func Versions() []string {
	return []string{Oldest, "4.0.2", "4.1.2", "4.2.1", "4.3.1", Newest}
}

// Full says whether the whole matrix is asked for, not a representative part.
func Full() bool { return os.Getenv("SSTOOL_MATRIX") == "full" }

// Chosen are the versions that a test runs: those that SSTOOL_VERSIONS names,
// all with SSTOOL_MATRIX=full, else these.
func Chosen(some ...string) []string {
	if only := os.Getenv("SSTOOL_VERSIONS"); only != "" {
		return strings.Split(only, ",")
	}
	if Full() {
		return Versions()
	}
	return some
}

// Require skips the test unless SSTOOL_REAL=1 asks for the real-Kafka suite,
// and when it does, skips with one line that says what is missing if Java 17
// or Maven are; with CI=true it fails instead.
func Require(t testing.TB) {
	t.Helper()
	if asked := os.Getenv("SSTOOL_REAL"); asked == "" || asked == "0" {
		t.Skip("real-Kafka suite skipped: set SSTOOL_REAL=1 to run it (make test does)")
	}
	if err := Installed(); err != nil {
		const line = "real-Kafka suite skipped: install Java 17 and Maven"
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", line, err)
		}
		t.Skipf("%s (%v)", line, err)
	}
}

// Installed says what the real-Kafka suite lacks on this machine, or nil.
func Installed() error {
	var missing []string
	if _, err := exec.LookPath("mvn"); err != nil {
		missing = append(missing, "no mvn on the PATH")
	}
	if out, err := exec.Command("java", "-version").CombinedOutput(); err != nil {
		missing = append(missing, "no java on the PATH")
	} else if v := javaVersion(string(out)); v < 17 {
		missing = append(missing, fmt.Sprintf("java is version %d", v))
	}
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, ", "))
	}
	return nil
}

// javaVersion reads the major version from `java -version`: 8 for "1.8.0_292".
func javaVersion(out string) int {
	m := regexp.MustCompile(`version "(?:1\.)?(\d+)`).FindStringSubmatch(out)
	if m == nil {
		return 0
	}
	v, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return v
}
