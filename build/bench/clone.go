package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sstool/internal/worldtest"
)

// clone makes a store of a gigabyte and clones its directory under a new name,
// as sstool migrate apply-local does on each host, in turn with cp -al of the
// same directory, which makes links of all files.
func (b *bench) clone(records int64) error {
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := scenario{name: "clone", gen: worldtest.GenOptions{Kind: "timestamped-kv", Keys: -1}}
	g := s.options(records)
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return err
	}
	state := filepath.Join(dir, "state")
	made, err := b.into(s, state)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "m.json")
	if _, _, err := b.spent(b.binary, "rename", "st", "new", "--bootstrap-server", b.broker.Bootstrap, "--application-id", "bench-clone", "--ledger", file, "--yes"); err != nil {
		return err
	}
	var ours, links []float64
	var written int64
	var doc cloneDoc
	for round := range b.rounds + 1 { // the first brings everything into the page cache
		host := filepath.Join(dir, fmt.Sprint("host-", round))
		linked, _, err := b.spent("cp", "-al", state, host)
		if err != nil {
			return err
		}
		syscall.Sync() // what was written before is not counted
		own, out, err := b.spent(b.binary, "migrate", "apply-local", file, "--state-dir", host, "--yes", "-o", "json")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			return err
		}
		if round > 0 {
			ours, links, written = append(ours, own.seconds), append(links, linked.seconds), max(written, own.written)
		}
		if err := os.RemoveAll(host); err != nil {
			return err
		}
	}
	fmt.Printf("clone: a directory of %.0f MiB: %.0f ms, %d files linked, %d copied (%d KiB), at most %d KiB written to the disk; cp -al %.0f ms\n",
		mib(made.Store), 1e3*median(ours), doc.Clone.Links, doc.Clone.Copies, doc.Clone.CopyBytes>>10, written>>10, 1e3*median(links))
	return nil
}

// cloneDoc is what the document of apply-local tells of files.
type cloneDoc struct {
	Clone struct {
		Links     int   `json:"links"`
		Copies    int   `json:"copies"`
		CopyBytes int64 `json:"copy_bytes"`
	} `json:"clone"`
}

// spending is what a process took.
type spending struct {
	seconds float64
	written int64 // bytes, as the kernel counts them for the process
}

// spent runs a program and returns what it took, and its output.
func (b *bench) spent(name string, args ...string) (spending, []byte, error) {
	cmd := exec.CommandContext(b.ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return spending{}, nil, fmt.Errorf("%s: %w", cmd, err)
	}
	s := spending{seconds: time.Since(begun).Seconds()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.written = int64(u.Oublock) * 512
	}
	return s, out.Bytes(), nil
}
