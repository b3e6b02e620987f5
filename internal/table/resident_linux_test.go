package table

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestResidentMemory is about what the process really takes, in a process of
// its own: 200 MB of rows that arrive as badly as they can.
func TestResidentMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const memory = 16 << 20
	row := func(_ *rand.Rand, i int) ([]byte, []byte) {
		return fmt.Appendf(nil, "%020d", i), make([]byte, 90)
	}
	if os.Getenv("TABLE_TEST_CHILD") != "" {
		tb, err := New(Options{Memory: memory, Workers: 2, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer tb.Close()
		const rows = 1_600_000
		feedRows(t, tb, 2, rows, row)
		if st, _ := drain(t, tb, 2); st.Live != rows-rows/50 {
			t.Errorf("%+v", st)
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s\n", status)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestResidentMemory$", "-test.v")
	cmd.Env = append(os.Environ(), "TABLE_TEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("no VmHWM in\n%s", out)
	}
	most, _ := strconv.Atoi(string(m[1]))
	most <<= 10
	t.Logf("%d MiB", most>>20)
	// What is not the table's: the test binary and the garbage of making rows.
	if most > memory+24<<20 {
		t.Errorf("%d MiB resident for a table of %d MiB", most>>20, memory>>20)
	}
}
