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

	"sstool/internal/worldtest"
)

// BenchmarkLintAgainstJVM compares the whole command, on a topology of 5,000
// nodes, with the start of a JVM: of one that does nothing, and of one that does
// no more than build and describe a topology, as every tool in Java must that
// asks Kafka Streams what a topology is: the smallest there is, with Java's
// defaults and with flags that let it start fast, and the one that is linted.
// All run in turn; the ratios are of medians.
//
//	go test -run '^$' -bench LintAgainstJVM -benchtime 30x ./cmd
func BenchmarkLintAgainstJVM(b *testing.B) {
	if _, err := exec.LookPath("javac"); err != nil {
		b.Skip("no javac on the PATH")
	}
	dir := b.TempDir()
	program, text := filepath.Join(dir, "sstool"), filepath.Join(dir, "topology.txt")
	build := exec.Command("go", "build", "-o", program, "./sstool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(text, []byte(wideTopology(1000)), 0o600); err != nil {
		b.Fatal(err)
	}
	names := []string{"sstool", "jvm"}
	commands := [][]string{
		{program, "lint", text, "--application-id", "app", "--fail-on", "never"},
		javaCommand(b, filepath.Join(dir, "nothing"), "", "Nothing", "class Nothing { public static void main(String[] a) {} }"),
	}
	if worldtest.Installed() == nil {
		streams := javaCommand(b, filepath.Join(dir, "described"), worldtest.Newest, "Described", describedJava)
		fast := []string{"java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}
		names = append(names, "kafka-streams", "kafka-streams-fast", "kafka-streams-same")
		commands = append(commands, append(slices.Clip(streams), "1"), slices.Concat(fast, streams[1:], []string{"1"}), append(slices.Clip(streams), "1000"))
	}
	walls, cpus := make([][]float64, len(commands)), make([][]float64, len(commands))
	for b.Loop() {
		for i, args := range commands {
			c := exec.Command(args[0], args[1:]...)
			start := time.Now()
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			walls[i] = append(walls[i], float64(time.Since(start).Microseconds())/1000)
			cpus[i] = append(cpus[i], float64((c.ProcessState.UserTime()+c.ProcessState.SystemTime()).Microseconds())/1000)
		}
	}
	for i, name := range names {
		slices.Sort(walls[i])
		slices.Sort(cpus[i])
		wall, cpu := walls[i][len(walls[i])/2], cpus[i][len(cpus[i])/2]
		b.ReportMetric(wall, name+"-ms")
		b.ReportMetric(cpu, name+"-cpu-ms")
		if i > 0 {
			b.ReportMetric(walls[0][len(walls[0])/2]/wall, "of-"+name)
			b.ReportMetric(cpus[0][len(cpus[0])/2]/cpu, "cpu-of-"+name)
		}
	}
}

// describedJava is the least that a linter in Java needs to know a topology,
// which is that of wideTopology.
const describedJava = `import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;

class Described {
    public static void main(String[] a) {
        StreamsBuilder builder = new StreamsBuilder();
        for (int i = 0; i < Integer.parseInt(a[0]); i++) {
            builder.<String, String>stream("topic-" + i).groupBy((k, v) -> v, Grouped.as("counts-" + i)).count(Materialized.as("counts-" + i));
        }
        System.out.println(builder.build().describe());
    }
}
`

// javaCommand compiles a class, against Kafka Streams if a version is given,
// and gives the command that runs it.
func javaCommand(b *testing.B, dir, version, class, source string) []string {
	b.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	classPath := dir
	if version != "" {
		var err error
		if classPath, err = worldtest.CompileJava(b.Context(), version, dir, map[string]string{class + ".java": source}); err != nil {
			b.Fatal(err)
		}
	} else {
		file := filepath.Join(dir, class+".java")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			b.Fatal(err)
		}
		if out, err := exec.Command("javac", "-d", dir, file).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	return []string{"java", "-cp", classPath, class}
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
