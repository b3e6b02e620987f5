package worldtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// session talks to one harness JVM: see world.Server for the lines.
type session struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	diag  lockedBuffer

	mu      sync.Mutex
	next    int
	waiting map[string]chan answer
	ended   error // why no more replies come
	done    chan struct{}
}

type answer struct {
	status string
	json   string
}

func startSession(cmd *exec.Cmd) (*session, error) {
	s := &session{cmd: cmd, waiting: map[string]chan answer{}, done: make(chan struct{})}
	cmd.Args = append(cmd.Args, "serve")
	cmd.Stderr = &s.diag
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go s.receive(stdout)
	return s, nil
}

// receive hands replies to those who wait, until the JVM ends.
func (s *session) receive(stdout io.Reader) {
	defer close(s.done)
	in := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 {
			fmt.Fprintf(&s.diag, "not a reply: %s", line)
			continue
		}
		s.mu.Lock()
		if ch := s.waiting[fields[0]]; ch != nil {
			delete(s.waiting, fields[0])
			ch <- answer{status: fields[1], json: fields[2]}
		}
		s.mu.Unlock()
	}
	err := s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = errors.New("the harness has ended")
	if err != nil {
		s.ended = fmt.Errorf("the harness has ended: %w", err)
	}
	for _, ch := range s.waiting {
		close(ch)
	}
	s.waiting = nil
}

// do runs one command and decodes its reply. It may be called from several
// goroutines. When ctx ends the command goes on alone.
func (s *session) do(ctx context.Context, reply any, command string, args ...string) error {
	ch := make(chan answer, 1)
	if err := s.send(ch, command, args); err != nil {
		return fmt.Errorf("harness %s: %w", command, err)
	}
	var a answer
	var ok bool
	select {
	case <-ctx.Done():
		return fmt.Errorf("harness %s: %w", command, ctx.Err())
	case a, ok = <-ch:
	}
	if !ok {
		return fmt.Errorf("harness %s: the JVM ended\n%s", command, tail(s.diag.String(), 4<<10))
	}
	if a.status == "error" {
		var message string
		if err := json.Unmarshal([]byte(a.json), &message); err != nil {
			message = a.json
		}
		return fmt.Errorf("harness %s: %s", command, message)
	}
	return json.Unmarshal([]byte(a.json), reply)
}

func (s *session) send(ch chan answer, command string, args []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	s.next++
	id := strconv.Itoa(s.next)
	words := []string{id, command}
	for _, arg := range args {
		words = append(words, url.QueryEscape(arg))
	}
	if _, err := io.WriteString(s.stdin, strings.Join(words, "\t")+"\n"); err != nil {
		return err
	}
	s.waiting[id] = ch
	return nil
}

// close ends the JVM and waits for it.
func (s *session) close() {
	_ = s.stdin.Close()
	<-s.done
}

func (s *session) log() string { return s.diag.String() }

// lockedBuffer collects what a process prints while others read it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
