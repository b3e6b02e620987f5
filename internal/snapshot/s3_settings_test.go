package snapshot

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/op"
)

// awsEnv gives the test an environment without any credentials.
func awsEnv(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, k := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(k, "")
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return dir
}

func TestS3SettingsThatAreWrong(t *testing.T) {
	awsEnv(t)
	for _, q := range []string{
		"use_path_style=geheim", "s3ForcePathStyle=geheim", "anonymous=geheim", "accelerate=geheim", "disable_https=geheim", "dualstack=geheim", "fips=geheim",
		"hostname_immutable=geheim", "ssetype=geheim", "request_checksum_calculation=geheim", "response_checksum_validation=geheim", "rate_limiter_capacity=geheim",
		"rate_limiter_capacity=-1", "role=geheim", "endpoint=geheim", "endpoint=https://a:geheim@host", "profile=other",
	} {
		_, err := Open(t.Context(), "s3://b?region=r&"+q, Options{})
		name, _, _ := strings.Cut(q, "=")
		if op.KindOf(err) != op.Usage || err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", q, err)
		}
	}
	if _, err := Open(t.Context(), "s3://b", Options{}); op.KindOf(err) != op.Usage || err == nil || !strings.Contains(err.Error(), "which region") {
		t.Errorf("no region: %v", err)
	}
	for _, q := range []string{
		"region=r&use_path_style=true&ssetype=aes256&kmskeyid=k&request_checksum_calculation=WHEN_REQUIRED&response_checksum_validation=when_supported&rate_limiter_capacity=3",
		"region=r&anonymous=true&dualstack=true&fips=true&accelerate=false&disable_https=true", "region=r&role=arn:aws:iam::1:role/x", "endpoint=http://127.0.0.1:1",
	} {
		b, err := Open(t.Context(), "s3://b?"+q, Options{})
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		b.Close()
	}
}

// TestS3Requests holds what reaches a store: host and path, and whom the
// request is signed for, with credentials of all homes that need no AWS.
func TestS3Requests(t *testing.T) {
	var got atomic.Pointer[http.Request]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/role": // a container's, or IRSA's
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"AccessKeyId":"of-the-container","SecretAccessKey":"s","Token":"t","Expiration":"2999-01-01T00:00:00Z"}`))
		case r.Method == http.MethodPost: // STS
			_, _ = w.Write([]byte(`<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>of-the-role</AccessKeyId>` +
				`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>` +
				`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`))
		default:
			got.Store(r)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		name, query, file string
		env               map[string]string
		path, signed      string // what the store sees
	}{
		{"environment", "region=eu-1", "", map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s"}, "/b/k", "Credential=key/* /eu-1/s3/"},
		{"region of the environment", "", "", map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-2"}, "/b/k", "/eu-2/s3/"},
		{"no region", "", "", map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s"}, "/b/k", "/us-east-1/s3/"},
		{"immutable", "hostname_immutable=true&use_path_style=false", "", map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s"}, "/b/k", ""},
		{"profile", "profile=me", "[me]\naws_access_key_id = mine\naws_secret_access_key = s\n", nil, "/b/k", "Credential=mine/"},
		{"anonymous", "anonymous=true", "", nil, "/b/k", ""},
		{"container", "", "", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL + "/role"}, "/b/k", "Credential=of-the-container/"},
		{"web identity", "", "token", map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::1:role/x", "AWS_WEB_IDENTITY_TOKEN_FILE": "credentials",
			"AWS_ENDPOINT_URL_STS": s.URL, "AWS_REGION": "eu-2"}, "/b/k", "Credential=of-the-role/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := awsEnv(t)
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, "credentials"), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for k, v := range c.env {
				if k == "AWS_WEB_IDENTITY_TOKEN_FILE" { // it is no profile
					v = filepath.Join(dir, v)
					t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
				}
				t.Setenv(k, v)
			}
			got.Store(nil)
			b, err := Open(t.Context(), "s3://b?endpoint="+s.URL+"&"+c.query, Options{Tries: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			_, err = b.getSmall(t.Context(), "k", 1)
			r := got.Load()
			if r == nil {
				t.Fatalf("the store saw nothing: %v", err)
			}
			signed := r.Header.Get("Authorization")
			for part := range strings.SplitSeq(c.signed, "* ") {
				if !strings.Contains(signed, part) {
					t.Errorf("signed %q", signed)
				}
			}
			if r.URL.Path != c.path || (c.name == "anonymous") != (signed == "") {
				t.Errorf("path %s, signed %q", r.URL.Path, signed)
			}
		})
	}
}

// TestNoCredentials: what is missing is said at once; credentials that were
// there and cannot be renewed are tried again.
func TestNoCredentials(t *testing.T) {
	awsEnv(t)
	b, err := Open(t.Context(), "s3://b?region=eu-1&endpoint=http://127.0.0.1:1", Options{pause: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Manifests(t.Context(), "")
	if op.KindOf(err) != op.Unreachable || err == nil || !strings.Contains(err.Error(), "no credentials: ") || !strings.Contains(strings.Join(op.Tries(err), " "), "AWS_ACCESS_KEY_ID") {
		t.Errorf("%v, try %q", err, op.Tries(err))
	}
	if again(&noCredentials{os.ErrClosed, false}) || !again(&noCredentials{os.ErrClosed, true}) {
		t.Error("which of them are tried again?")
	}
}

// TestS3Answers is what errors of a store mean: their status alone does not say it.
func TestS3Answers(t *testing.T) {
	awsEnv(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	for _, c := range []struct {
		status int
		code   string
		kind   op.Kind
	}{
		{400, "ExpiredToken", op.Unreachable},
		{403, "InvalidAccessKeyId", op.Unreachable},
		{400, "AuthorizationHeaderMalformed", op.Failed},
		{400, "RequestTimeout", op.Unreachable},
		{404, "NoSuchKey", op.NotFound},
		{200, "", op.Corrupt}, // with a checksum of other content
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-amz-checksum-crc32", "AAAAAA==")
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", c.code)
		}))
		b, err := Open(t.Context(), "s3://b?endpoint="+s.URL, Options{Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.getSmall(t.Context(), "k", 1000)
		if op.KindOf(err) != c.kind || err == nil {
			t.Errorf("%d %s: kind %v: %v", c.status, c.code, op.KindOf(err), err)
		}
		b.Close()
		s.Close()
	}
}

// TestWebServerIsNoStore: one that is content with everything has stored nothing.
func TestWebServerIsNoStore(t *testing.T) {
	awsEnv(t)
	for _, page := range []string{"", "hi", strings.Repeat("<p>welcome</p>", 10_000)} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, page) }))
		defer srv.Close()
		b, err := Open(t.Context(), "s3://b?anonymous=true&endpoint="+srv.URL, Options{Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		s := state{"000001.sst": "one"}
		_, err = b.Push(t.Context(), s.manifest("app"), s.open, PushOptions{}, nil)
		if err == nil || op.KindOf(err) != op.Failed || !strings.Contains(err.Error(), "no store for snapshots") {
			t.Errorf("%d bytes: %v", len(page), err)
		}
	}
}
