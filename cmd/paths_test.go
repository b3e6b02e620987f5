package cmd

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"sstool/internal/op"
)

func TestRefusedByTheSystemSaysAsWhom(t *testing.T) {
	for err, want := range map[error]string{
		op.Errorf(op.Failed, "write: %w", &fs.PathError{Op: "mkdir", Path: "/state", Err: syscall.EACCES}): "try: run it as the user the application runs as",
		fmt.Errorf("write: %w", syscall.EPERM):                       "try: run it as the user the application runs as",
		op.Errorf(op.Failed, "write: %w", syscall.EROFS):             "try: a directory on a file system that is mounted for writing",
		op.Errorf(op.Failed, "x: %w", syscall.EACCES).WithTry("own"): "try: own\n",
	} {
		var errs bytes.Buffer
		a := &app{started: true, io: IO{Err: &errs}}
		if code := a.report(&cobra.Command{}, err); code != 1 || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "try:") != 1 {
			t.Errorf("%v: code %d, %q, want 1 and %q", err, code, errs.String(), want)
		}
	}
}

func TestRootIsWarnedOfAForeignStateDirectory(t *testing.T) {
	dir := t.TempDir()
	owner := os.Geteuid()
	if owner == 0 {
		owner = 4242
		if err := os.Chown(dir, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	if uid, foreign := foreignOwner(dir, 0); !foreign || uid != owner {
		t.Errorf("root in a directory of %d: %d, %v", owner, uid, foreign)
	}
	if _, foreign := foreignOwner(dir, owner); foreign {
		t.Error("a user in their own directory")
	}
	if _, foreign := foreignOwner(dir+"/nowhere", 0); foreign {
		t.Error("a directory that is not there")
	}
	var warned []string
	warnOfOwner(dir, "orders", func(s string) { warned = append(warned, s) })
	if want := os.Geteuid() == 0; (len(warned) == 1) != want {
		t.Errorf("as user %d warned %q", os.Geteuid(), warned)
	}
}
