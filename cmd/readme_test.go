package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/demo"
)

// TestReadmeCommandsWork runs the README's commands for "your own cluster", one
// after the other as they are written, against the demo's cluster.
func TestReadmeCommandsWork(t *testing.T) {
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(readme), "Against your own cluster:\n\n```sh\n")
	block, _, _ = strings.Cut(block, "```")
	dir := t.TempDir()
	cluster, err := demo.Start(t.Context(), demo.Options{Records: 5000, Now: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	state := filepath.Join(dir, "state")
	known := filepath.Join(dir, "demo.yaml")
	if err := os.WriteFile(known, []byte(demo.Spec()), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := runWith(t, nil, "restore", "--into", state, "--spec", known, "--bootstrap-server", cluster.Bootstrap()); got.code != 0 {
		t.Fatal(got.err)
	}
	here := strings.NewReplacer("kafka:9092", cluster.Bootstrap(), "/var/lib/kafka-streams", state, "orders.yaml", filepath.Join(dir, "orders.yaml"))
	ran := 0
	for line := range strings.Lines(block) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "sstool ")
		if !ok {
			continue
		}
		ran++
		args, file, redirected := strings.Cut(here.Replace(args), " > ")
		got := runWith(t, nil, strings.Fields(args)...)
		if got.code != 0 {
			t.Fatalf("%s: code %d, %s", strings.TrimSpace(line), got.code, got.err)
		}
		if redirected {
			if err := os.WriteFile(file, []byte(got.out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran < 3 {
		t.Fatalf("only %d commands in the README", ran)
	}
	for _, path := range []string{"0_3/rocksdb/account-payment-total/CURRENT", "1_1/order-dedup", "4_1/rocksdb/prices/CURRENT"} {
		if _, err := os.Stat(filepath.Join(state+"-new", "orders", path)); err != nil {
			t.Error(err)
		}
	}
}
