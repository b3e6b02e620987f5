package worldtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// MetricsEndpoints are where the application of a Harness shows its metrics, in
// the spellings that are in use.
type MetricsEndpoints struct {
	JMX        string // Prometheus' JMX exporter, as a Java agent
	Micrometer string // Micrometer's KafkaStreamsMetrics
	Telemetry  string // the names of KIP-714, as OpenTelemetry's Prometheus exporter spells them
}

// StreamsWithMetrics is Streams for one application that shows its metrics.
// jmxRules is the configuration of the JMX exporter: "{}" for none.
func StreamsWithMetrics(t testing.TB, version, jmxRules string) (*Harness, MetricsEndpoints) {
	t.Helper()
	var e MetricsEndpoints
	metrics, err := classpath("metrics", version)
	if err != nil {
		t.Fatal(err)
	}
	harness, err := classpath("harness", version, harnessArgs(version)...)
	if err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(t.TempDir(), "jmx.yml")
	if err := os.WriteFile(rules, []byte(jmxRules), 0o600); err != nil {
		t.Fatal(err)
	}
	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	jar, _, _ := strings.Cut(metrics, string(os.PathListSeparator))
	agent := filepath.Join(filepath.Dir(jar), "jmx-agent.jar")
	h := &Harness{Version: version, classpath: harness + string(os.PathListSeparator) + metrics}
	h.session, err = startSession(h.java("-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.log.io.micrometer=warn", fmt.Sprintf("-Dworld.metrics.port=%d", ports[1]), fmt.Sprintf("-javaagent:%s=127.0.0.1:%d:%s", agent, ports[0], rules)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		if t.Failed() {
			t.Logf("harness %s:\n%s", version, tail(h.Log(), 8<<10))
		}
	})
	e.JMX = fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[0])
	e.Micrometer = fmt.Sprintf("http://127.0.0.1:%d/micrometer", ports[1])
	e.Telemetry = fmt.Sprintf("http://127.0.0.1:%d/telemetry", ports[1])
	return h, e
}

// Page is the body of a GET request with an Accept header.
func Page(ctx context.Context, url, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return body, err
}
