package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkLintAgainstJVM compares the whole command, on a topology of 5,000
// nodes, with the start of a JVM that does nothing: the least that a linter in
// Java could take. Both run in turn; the ratios are of medians.
//
//	go test -run '^$' -bench LintAgainstJVM ./cmd
func BenchmarkLintAgainstJVM(b *testing.B) {
	if _, err := exec.LookPath("java"); err != nil {
		b.Skip("no java on the PATH")
	}
	dir := b.TempDir()
	program := filepath.Join(dir, "sstool")
	build := exec.Command("go", "build", "-o", program, "./sstool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{"topology.txt": wideTopology(1000), "Nothing.java": "class Nothing { public static void main(String[] a) {} }"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	compile := exec.Command("javac", "-d", dir, filepath.Join(dir, "Nothing.java"))
	if out, err := compile.CombinedOutput(); err != nil {
		b.Skipf("no javac: %v\n%s", err, out)
	}
	var walls, cpus [2][]float64
	for b.Loop() {
		for i, c := range []*exec.Cmd{
			exec.Command(program, "lint", filepath.Join(dir, "topology.txt"), "--application-id", "app", "--fail-on", "never"),
			exec.Command("java", "-Xshare:auto", "-cp", dir, "Nothing"),
		} {
			start := time.Now()
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			walls[i] = append(walls[i], float64(time.Since(start).Microseconds())/1000)
			cpus[i] = append(cpus[i], float64((c.ProcessState.UserTime()+c.ProcessState.SystemTime()).Microseconds())/1000)
		}
	}
	median := func(s []float64) float64 {
		slices.Sort(s)
		return s[len(s)/2]
	}
	for i, name := range []string{"sstool", "jvm"} {
		b.ReportMetric(median(walls[i]), name+"-ms")
		b.ReportMetric(median(cpus[i]), name+"-cpu-ms")
	}
	b.ReportMetric(median(walls[0])/median(walls[1]), "ratio")
	b.ReportMetric(median(cpus[0])/median(cpus[1]), "cpu-ratio")
}

// wideTopology is a topology of five nodes for each stream: a grouping with a
// repartition topic, and a count.
func wideTopology(streams int) string {
	var first, second strings.Builder
	first.WriteString("Topologies:\n   Sub-topology: 0\n")
	for i := range streams {
		name := func(op string, k int) string { return fmt.Sprintf("%s-%010d", op, 10*i+k) }
		source, key, sink := name("KSTREAM-SOURCE", 0), name("KSTREAM-KEY-SELECT", 1), name("KSTREAM-SINK", 4)
		topic := fmt.Sprintf("counts-%d-repartition", i)
		fmt.Fprintf(&first, "    Source: %s (topics: [topic-%d])\n      --> %s\n", source, i, key)
		fmt.Fprintf(&first, "    Processor: %s (stores: [])\n      --> %s\n      <-- %s\n", key, sink, source)
		fmt.Fprintf(&first, "    Sink: %s (topic: %s)\n      <-- %s\n", sink, topic, key)
		in, count := name("KSTREAM-SOURCE", 6), name("KSTREAM-AGGREGATE", 3)
		fmt.Fprintf(&second, "  Sub-topology: %d\n    Source: %s (topics: [%s])\n      --> %s\n", i+1, in, topic, count)
		fmt.Fprintf(&second, "    Processor: %s (stores: [counts-%d])\n      --> none\n      <-- %s\n\n", count, i, in)
	}
	return first.String() + "\n" + second.String()
}
