// Command native brings the RocksDB shared library that sstool is built
// against into a cache folder and tells make and the shell how to link it.
// Only the Makefile calls it; it needs Go, and Maven once.
//
// It does not know how RocksDB is used: that is internal/rocks.
package main

import (
	"fmt"
	"os"
	"os/exec"
)

const usage = `usage: native <command>

  env       print export lines for building against RocksDB
  copy DIR  put the shared library into DIR, for a binary in DIR
  path      print the folder with include/ and lib/
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sstool build:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	lib, err := locate()
	if err != nil {
		return err
	}
	switch {
	case args[0] == "path" && len(args) == 1:
		fmt.Println(lib.Root)
		return nil
	case args[0] == "copy" && len(args) == 2:
		return lib.copyTo(args[1])
	case args[0] == "env" && len(args) == 1:
		return printEnv(lib)
	}
	return fmt.Errorf("unknown command %q\n%s", args, usage)
}

// printEnv prints the export lines, after checking that what they promise can
// work: cgo without a C compiler fails with a message nobody understands.
func printEnv(lib *library) error {
	cc, err := goEnv("CC")
	if err != nil {
		return err
	}
	if fields, _ := splitFlags(cc); len(fields) > 0 {
		cc = fields[0]
	}
	if _, err := exec.LookPath(cc); err != nil {
		return fmt.Errorf("no C compiler (%s): install one (Debian, Ubuntu: apt-get install gcc libc6-dev; macOS: xcode-select --install)", cc)
	}
	flags, err := goEnv("GOFLAGS")
	if err != nil {
		return err
	}
	for _, line := range exports(lib, flags) {
		fmt.Println(line)
	}
	return nil
}
