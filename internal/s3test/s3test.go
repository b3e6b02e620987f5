// Package s3test runs a real S3 server (versitygw) for tests, and a proxy before
// it that makes faults. Nothing but tests imports it.
package s3test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// gateway is the S3 server: Apache-2.0, one binary, a directory behind it.
const gateway = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// Bucket is the bucket that every server has.
const Bucket = "snapshots"

// Start runs a server for the test and returns its endpoint, http://host:port, and
// the directory where its objects are files. It sets the credentials in the
// environment. The server is built once, by go install into the user's cache, and only
// when SSTOOL_REAL is 1: it takes minutes. Without it the test is skipped.
func Start(t *testing.T) (endpoint, dir string) {
	t.Helper()
	bin := binary(t)
	root := t.TempDir()
	dir = filepath.Join(root, "data", Bucket)
	for _, d := range []string{dir, filepath.Join(root, "meta")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(bin, "--quiet", "--port", addr, "--health", "/health", "posix", "--sidecar", filepath.Join(root, "meta"), filepath.Join(root, "data"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=sstool", "ROOT_SECRET_KEY=sstool-secret")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	endpoint = "http://" + addr
	for range 1200 { // a minute
		if r, err := http.Get(endpoint + "/health"); err == nil {
			r.Body.Close()
			t.Setenv("AWS_ACCESS_KEY_ID", "sstool")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "sstool-secret")
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			for _, k := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"} {
				t.Setenv(k, "") // nothing of the machine's own
			}
			for _, k := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
				t.Setenv(k, filepath.Join(root, "none"))
			}
			return endpoint, dir
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the S3 server does not answer at %s", endpoint)
	return "", ""
}

// Slow skips a test that takes long unless SSTOOL_REAL is 1.
func Slow(t *testing.T) {
	t.Helper()
	if os.Getenv("SSTOOL_REAL") != "1" {
		t.Skip("skipped: faults of an S3 server take some 20 s; SSTOOL_REAL=1 runs them")
	}
}

// URL is that of the bucket, with a prefix, behind an endpoint.
func URL(endpoint, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?region=us-east-1&endpoint=%s", Bucket, prefix, endpoint)
}

func binary(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("S3 server skipped: no cache folder")
	}
	dir := filepath.Join(cache, "sstool", "versitygw-1.8.0")
	bin := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	if os.Getenv("SSTOOL_REAL") != "1" {
		t.Skip("S3 server skipped: SSTOOL_REAL=1 builds versitygw once, which takes minutes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "install", gateway)
	cmd.Dir = t.TempDir() // of no module
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("versitygw: %v\n%s", err, out)
		}
		t.Skipf("S3 server skipped: versitygw is not to be had: %v\n%.500s", err, out)
	}
	return bin
}
