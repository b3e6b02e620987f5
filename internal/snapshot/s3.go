package snapshot

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"sstool/internal/op"
)

// s3Settings are what the query of an s3:// URL may say. Credentials are none
// of it: they come from the environment, the shared configuration, or the role
// of the machine, as AWS's own tools find them.
var s3Settings = []string{
	"region", "endpoint", "profile", "role", "anonymous", "use_path_style", "s3ForcePathStyle", "disable_https", "hostname_immutable",
	"dualstack", "fips", "accelerate", "ssetype", "kmskeyid", "request_checksum_calculation", "response_checksum_validation", "rate_limiter_capacity",
}

// s3Query reads settings; the first that is wrong is its error. Values are not
// shown: they may be secrets that were put there.
type s3Query struct {
	url.Values
	err error
}

func (q *s3Query) wrong(name, want string) {
	if q.err == nil {
		q.err = op.Errorf(op.Usage, "%s of an s3:// URL is %s", name, want)
	}
}

func (q *s3Query) flag(name string) bool {
	s := q.Get(name)
	on, err := strconv.ParseBool(s)
	if err != nil && s != "" {
		q.wrong(name, "true or false")
	}
	return on
}

// choice finds a value among those that are possible.
func choice[T ~string](q *s3Query, name string, all []T) (v T) {
	s := q.Get(name)
	if s == "" {
		return v
	}
	var names []string
	for _, c := range all {
		if strings.EqualFold(string(c), s) {
			return c
		}
		names = append(names, string(c))
	}
	q.wrong(name, "one of "+strings.Join(names, ", "))
	return v
}

// checks are the two modes of the newer checksums.
var checks = []string{"when_supported", "when_required"}

// newS3 opens a bucket of S3. The client is made here and not by s3blob, whose
// own lets the SDK, and what looks for credentials, write to stderr.
func newS3(ctx context.Context, bucket string, query url.Values) (*blob.Bucket, error) {
	q := &s3Query{Values: query}
	load := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if s := q.Get("region"); s != "" {
		load = append(load, config.WithRegion(s))
	}
	if s := q.Get("profile"); s != "" {
		load = append(load, config.WithSharedConfigProfile(s))
	}
	if q.flag("dualstack") {
		load = append(load, config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	}
	if q.flag("fips") {
		load = append(load, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	}
	switch choice(q, "request_checksum_calculation", checks) {
	case "when_supported":
		load = append(load, config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenSupported))
	case "when_required":
		load = append(load, config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired))
	}
	switch choice(q, "response_checksum_validation", checks) {
	case "when_supported":
		load = append(load, config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenSupported))
	case "when_required":
		load = append(load, config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired))
	}
	anonymous := q.flag("anonymous")
	if anonymous {
		load = append(load, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	var limit retry.RateLimiter = ratelimit.None
	if s := q.Get("rate_limiter_capacity"); s != "" {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			q.wrong("rate_limiter_capacity", "a number")
		} else if n > 0 {
			limit = ratelimit.NewTokenRateLimit(uint(n))
		}
	}
	load = append(load, config.WithRetryer(func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = limit })
	}))
	endpoint, role := q.Get("endpoint"), q.Get("role")
	if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		q.wrong("endpoint", "http://HOST or https://HOST, without credentials")
	}
	if role != "" && !strings.HasPrefix(role, "arn:") {
		q.wrong("role", "an ARN (arn:…)")
	}
	client := func(o *s3.Options) {
		o.UseAccelerate = q.flag("accelerate")
		o.EndpointOptions.DisableHTTPS = q.flag("disable_https")
		// Stores other than AWS's rarely have a host name for each bucket.
		o.UsePathStyle = endpoint != ""
		for _, name := range []string{"use_path_style", "s3ForcePathStyle"} {
			if q.Get(name) != "" {
				o.UsePathStyle = q.flag(name)
			}
		}
		o.UsePathStyle = q.flag("hostname_immutable") || o.UsePathStyle
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	}
	client(&s3.Options{}) // are its flags right?
	encryption := choice(q, "ssetype", types.ServerSideEncryption("").Values())
	if q.err != nil {
		return nil, q.err
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, op.Errorf(op.Usage, "the configuration of AWS's tools: %w", err).WithTry("check AWS_… in the environment, ~/.aws, and profile in the URL")
	}
	switch {
	case cfg.Region == "" && endpoint != "":
		cfg.Region = "us-east-1" // most stores that have no regions want this one
	case cfg.Region == "":
		return nil, op.Errorf(op.Usage, "which region is the bucket in?").WithTry("s3://BUCKET?region=REGION, AWS_REGION, or a profile that says it")
	}
	if role != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role))
	}
	if !anonymous || role != "" {
		cfg.Credentials = &credentials{CredentialsProvider: cfg.Credentials}
	}
	return s3blob.OpenBucket(ctx, s3.NewFromConfig(cfg, client), bucket, &s3blob.Options{
		EncryptionType: encryption, KMSEncryptionID: q.Get("kmskeyid"), RequestChecksumCalculation: cfg.RequestChecksumCalculation,
	})
}

// credentials tells apart that there are none from what a store says.
type credentials struct {
	aws.CredentialsProvider
	had atomic.Bool
}

func (c *credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	v, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return v, &noCredentials{err, c.had.Load()}
	}
	c.had.Store(true)
	return v, nil
}

// noCredentials says that none were found; had, that there were some before: then
// they are only not to be renewed now.
type noCredentials struct {
	error
	had bool
}

func (e *noCredentials) Unwrap() error { return e.error }

// withoutCredentials is the reason when a request failed for want of credentials.
func withoutCredentials(err error) *noCredentials {
	var e *noCredentials
	errors.As(err, &e)
	return e
}

// wrongSum tells content that has not the checksum which the store keeps with it
// from what may pass: the SDK has no public type for it.
func wrongSum(err error) error {
	if err != nil && strings.Contains(err.Error(), "checksum did not match") {
		return &op.Error{Kind: op.Corrupt, What: "not what the store itself has a checksum of", Err: plainly{err}}
	}
	return err
}

// apiCode is what S3 itself calls an error.
func apiCode(err error) string {
	var api interface{ ErrorCode() string }
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
