package worldtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Options of a broker. The zero value is a Kafka 4.4 that listens in clear.
type Options struct {
	Version   string            // default Newest
	ClusterID string            // default: a fixed one
	Heap      string            // default 512m
	FullJIT   bool              // compile fully: slower to start, faster to serve; for benchmarks
	Config    map[string]string // server.properties over the harness's own
	Format    []string          // further options of `kafka-storage format`, as --add-scram
	Dir       string            // for logs and configuration; default a temporary one
}

// Broker is one real Kafka, a cluster of its own or one of a Cluster.
type Broker struct {
	Bootstrap string // host:port of the clear-text listener
	ClusterID string
	Dir       string

	opts      Options
	ownDir    bool // Dir is temporary and made here
	listeners []listener
	ports     map[string]int
	node      int
	classpath string
	proc      *exec.Cmd
	stdin     io.Closer
	control   io.Writer
	exited    chan struct{}
}

// listener is one entry of the broker's listeners setting.
type listener struct{ name, protocol string }

const plaintext = "PLAINTEXT"

const defaultClusterID = "MkU3OEVBNTcwNTJENDM2Qg"

// StartBroker starts a broker that ends with the test.
func StartBroker(t testing.TB, o Options) *Broker {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	b, err := NewBroker(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("broker log:\n%s", tail(b.Log(), 4<<10))
		}
		b.Kill()
	})
	return b
}

// NewBroker starts a broker outside of a test. The caller closes it; it also
// ends when this process does.
func NewBroker(ctx context.Context, o Options) (*Broker, error) {
	return newBroker(ctx, o, []listener{{plaintext, plaintext}})
}

func newBroker(ctx context.Context, o Options, listeners []listener) (*Broker, error) {
	b, err := prepareBroker(o, listeners, 1)
	if err != nil {
		return nil, err
	}
	// A port found free may be taken before the broker binds it.
	for attempt := 1; ; attempt++ {
		if err := b.pickPorts(); err != nil {
			return nil, err
		}
		if err := b.configure(b.voter()); err != nil {
			return nil, err
		}
		err := b.launch(ctx)
		if err == nil {
			return b, nil
		}
		if attempt == 3 || !strings.Contains(b.Log(), portTaken) {
			b.Close()
			return nil, err
		}
	}
}

func prepareBroker(o Options, listeners []listener, node int) (*Broker, error) {
	if o.Version == "" {
		o.Version = Newest
	}
	if o.ClusterID == "" {
		o.ClusterID = defaultClusterID
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	ownDir := o.Dir == ""
	if ownDir {
		dir, err := os.MkdirTemp("", "sstool-broker-")
		if err != nil {
			return nil, err
		}
		o.Dir = dir
	}
	cp, err := classpath("broker", o.Version)
	if err != nil {
		return nil, err
	}
	return &Broker{ClusterID: o.ClusterID, Dir: o.Dir, opts: o, ownDir: ownDir, listeners: listeners, node: node, classpath: cp}, nil
}

func (b *Broker) pickPorts() error {
	names := []string{"CONTROLLER"}
	for _, l := range b.listeners {
		names = append(names, l.name)
	}
	ports, err := freePorts(len(names))
	if err != nil {
		return err
	}
	b.ports = map[string]int{}
	for i, name := range names {
		b.ports[name] = ports[i]
	}
	b.Bootstrap = b.address(plaintext)
	return nil
}

// voter is the broker among the controllers.
func (b *Broker) voter() string { return fmt.Sprintf("%d@%s", b.node, b.address("CONTROLLER")) }

// configure writes server.properties.
func (b *Broker) configure(voters string) error {
	controller := b.address("CONTROLLER")
	listen, advertised := []string{"CONTROLLER://" + controller}, []string{}
	protocols := []string{"CONTROLLER:PLAINTEXT"}
	for _, l := range b.listeners {
		listen = append(listen, l.name+"://"+b.address(l.name))
		advertised = append(advertised, l.name+"://"+b.address(l.name))
		protocols = append(protocols, l.name+":"+l.protocol)
	}
	config := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        strconv.Itoa(b.node),
		"controller.quorum.voters":       voters,
		"listeners":                      strings.Join(listen, ","),
		"advertised.listeners":           strings.Join(advertised, ","),
		"controller.listener.names":      "CONTROLLER",
		"inter.broker.listener.name":     plaintext,
		"listener.security.protocol.map": strings.Join(protocols, ","),
		"log.dirs":                       filepath.Join(b.Dir, "logs"),
		// One node, few partitions of the broker's own: they are created at first use, while a client waits.
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"group.initial.rebalance.delay.ms":                 "0",
		"group.min.session.timeout.ms":                     "1000",
		// A broker that starts again waits until its former session is over.
		"broker.session.timeout.ms":    "4000",
		"broker.heartbeat.interval.ms": "400",
		// The cleaner looks often, and cleans what Compact asks for.
		"log.cleaner.backoff.ms":         "300",
		"log.cleaner.dedupe.buffer.size": "8388608",
	}
	maps.Copy(config, b.opts.Config)
	var out bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(config)) {
		fmt.Fprintf(&out, "%s=%s\n", key, config[key])
	}
	return os.WriteFile(filepath.Join(b.Dir, "server.properties"), out.Bytes(), 0o600)
}

// address is host:port of a listener.
func (b *Broker) address(name string) string {
	return fmt.Sprintf("127.0.0.1:%d", b.ports[name])
}

const portTaken = "Address already in use"

// Start starts a stopped or killed broker on its old data and ports. Some
// client's connection may have taken one of them: that passes.
func (b *Broker) Start(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		before := b.Log()
		err := b.launch(ctx)
		if err == nil || attempt == 5 || ctx.Err() != nil || !strings.Contains(strings.TrimPrefix(b.Log(), before), portTaken) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// launch runs the broker's process and waits until it answers.
func (b *Broker) launch(ctx context.Context) error {
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-Xmx" + b.opts.Heap, "-Xshare:auto"}
	if !b.opts.FullJIT {
		args = append(args, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
	}
	args = append(args, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", b.classpath, "world.Broker",
		filepath.Join(b.Dir, "server.properties"), filepath.Join(b.Dir, "logs"), b.ClusterID)
	cmd := exec.Command("java", append(args, b.opts.Format...)...)
	cmd.Stdout, cmd.Stderr = log, log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	b.proc, b.stdin, b.control, b.exited = cmd, stdin, stdin, exited
	if err := b.awaitReady(ctx, 4*time.Minute); err != nil {
		b.Kill()
		return fmt.Errorf("broker %s in %s: %w\n%s", b.opts.Version, b.Dir, err, tail(b.Log(), 2<<10))
	}
	return nil
}

func (b *Broker) awaitReady(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		select {
		case <-b.exited:
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		conn, err := net.DialTimeout("tcp", b.Bootstrap, time.Second)
		if err != nil {
			continue
		}
		conn.Close()
		return b.ping(ctx)
	}
}

// ping waits until the broker answers a metadata request.
func (b *Broker) ping(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		err := client.Ping(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Stop shuts the broker down cleanly.
func (b *Broker) Stop() error {
	if _, err := io.WriteString(b.control, "stop\n"); err != nil {
		return err
	}
	select {
	case <-b.exited:
		return nil
	case <-time.After(2 * time.Minute):
		b.Kill()
		return errors.New("the broker did not stop")
	}
}

// Kill ends the broker at once, as a power cut would, and waits for its end.
func (b *Broker) Kill() {
	if b.proc == nil {
		return
	}
	_ = b.proc.Process.Kill()
	<-b.exited
}

// Close kills the broker and removes its directory if it is a temporary one
// made by NewBroker.
func (b *Broker) Close() {
	b.Kill()
	if b.ownDir {
		_ = os.RemoveAll(b.Dir)
	}
}

// Pause stops the broker's process without closing its connections, as a hung
// machine would; Resume lets it go on.
func (b *Broker) Pause() error { return b.proc.Process.Signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (b *Broker) Resume() error { return b.proc.Process.Signal(syscall.SIGCONT) }

// Log is what the broker has printed.
func (b *Broker) Log() string {
	content, err := os.ReadFile(b.logFile())
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func (b *Broker) logFile() string { return filepath.Join(b.Dir, "broker.log") }

// freePorts asks the kernel for n ports that are free now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // together, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}
