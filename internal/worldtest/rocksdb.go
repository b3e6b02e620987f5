package worldtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// OpenStore opens a store for reading and writing with one rocksdbjni version
// and counts the rows of each column family: Kafka Streams releases before the
// harness's oldest are known by the RocksDB that they carry.
func OpenStore(ctx context.Context, rocksdbjni, dir string) (map[string]int64, error) {
	cp, err := classpath("rocksdb", rocksdbjni)
	if err != nil {
		return nil, err
	}
	out, err := runCommand(ctx, exec.Command("java", "-cp", cp, "world.OpenStore", dir))
	if err != nil {
		return nil, fmt.Errorf("open %s with rocksdbjni %s: %w\n%s", dir, rocksdbjni, err, out)
	}
	rows := map[string]int64{}
	for line := range strings.Lines(out) {
		var family string
		var n int64
		if _, err := fmt.Sscan(line, &family, &n); err != nil {
			return nil, fmt.Errorf("answer %q: %w", line, err)
		}
		rows[family] = n
	}
	return rows, nil
}
