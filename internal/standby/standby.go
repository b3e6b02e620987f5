// Package standby is how another process asks a follower (sstool restore
// --follow) for a checkpoint of the stores that it keeps: by files in
// <state.dir>/.sstool. What a checkpoint holds is not known here.
//
//	follow-<app>.lock               locked by the follower as long as it keeps the directory
//	checkpoint-<app>-<16 hex>/      a request; removed by who asked
//	  request                       locked by who asks, from before it says anything
//	  state/<app>/<task>/…          the stores, laid out as an application's directory
//	  answer                        put there at last
//
// The locks are flock's: the operating system lets them go when a process dies,
// so that what a killed one leaves can be told from what is in use.
package standby

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sstool/internal/op"
)

const (
	requestFile = "request"
	answerFile  = "answer"
	stateName   = "state"

	// maxDocument bounds what is read of a request or an answer.
	maxDocument = 64 << 20
	// unsaid is how long a request may say nothing: its process is about to.
	unsaid = time.Minute
)

func ownDir(state string) string { return filepath.Join(state, ".sstool") }

// Request is what is asked for.
type Request struct {
	Version int      `json:"version"`
	Tasks   []string `json:"tasks"` // none: all
}

// Answer says what the checkpoint is of, or why there is none.
type Answer struct {
	Version      int      `json:"version"`
	Refused      *Refusal `json:"refused,omitempty"`
	ClusterID    string   `json:"cluster_id"`
	Guarantee    string   `json:"processing_guarantee"` // "" when the follower was not told
	Committed    bool     `json:"read_committed"`
	KafkaVersion string   `json:"kafka_version"` // "" when the follower was not told
	// Stores are those that are followed; the others are as they lay there.
	Stores []Store `json:"stores"`
}

// Store is a store that is followed.
type Store struct {
	Task    string `json:"task"`
	Store   string `json:"store"`
	Topic   string `json:"topic"`
	TopicID string `json:"topic_id"`
}

// Refusal is an error on its way to another process.
type Refusal struct {
	Kind    string `json:"error_kind"`
	Message string `json:"message"`
	Try     string `json:"try"`
}

// Refuse makes the answer that says why there is no checkpoint.
func Refuse(err error) Answer {
	return Answer{Refused: &Refusal{op.KindOf(err).String(), err.Error(), strings.Join(op.Tries(err), "; ")}}
}

func (r *Refusal) err() error {
	kind := op.Failed
	for k := op.Failed; k <= op.Declined; k++ {
		if k.String() == r.Kind {
			kind = k
		}
	}
	return &op.Error{Kind: kind, What: "the follower makes no checkpoint", Err: errors.New(r.Message), Try: r.Try}
}

// parse reads a request or an answer. Other processes wrote it: nothing in it
// is a path.
func parse(data []byte, version *int, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return op.Errorf(op.Corrupt, "a message between two processes of sstool: %w", err)
	}
	if *version != 1 {
		return op.Errorf(op.Failed, "another version of sstool keeps the directory, which does not understand this one").WithTry("use the same version for both")
	}
	return nil
}

// lock is one of flock's on an open file, which is the process's and no other's.
type lock struct{ f *os.File }

var errLocked = errors.New("locked")

// take opens the file, with flags, and locks it as told (syscall.LOCK_…), or says
// errLocked.
func take(path string, flags, how int) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &lock{f}, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
}

func (l *lock) release() {
	if l != nil {
		l.f.Close()
	}
}

func keptFile(state, appID string) string {
	return filepath.Join(ownDir(state), "follow-"+appID+".lock")
}

// Keeper is a follower that can be asked.
type Keeper struct {
	l    *lock
	path string
}

// Keep says to others that a follower keeps the application's directory. It
// holds the application's own lock: nobody else keeps it.
func Keep(state, appID string) (*Keeper, error) {
	if err := os.MkdirAll(ownDir(state), 0o750); err != nil {
		return nil, err
	}
	path := keptFile(state, appID)
	l, err := take(path, os.O_CREATE, syscall.LOCK_EX) // who looks holds it for a moment
	if err != nil {
		return nil, err
	}
	return &Keeper{l, path}, nil
}

// Release ends that. The application's lock is held still.
func (k *Keeper) Release() {
	if k != nil {
		os.Remove(k.path)
		k.l.release()
	}
}

// Kept says whether a follower keeps the application's directory.
func Kept(state, appID string) bool {
	l, err := take(keptFile(state, appID), 0, syscall.LOCK_SH|syscall.LOCK_NB) // several may look
	l.release()
	return errors.Is(err, errLocked)
}

func newName(appID string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix(appID) + hex.EncodeToString(b[:])
}

func prefix(appID string) string { return "checkpoint-" + appID + "-" }

// isRequest says whether a name is that of a request for the application; an
// application's name may begin with another's.
func isRequest(name, appID string) bool {
	id, ok := strings.CutPrefix(name, prefix(appID))
	_, err := hex.DecodeString(id)
	return ok && err == nil && len(id) == 16
}

// read reads what is in an open file from its beginning.
func read(f *os.File) ([]byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxDocument))
}
