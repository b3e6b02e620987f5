package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"

	"sstool/internal/op"
)

// plainSpace is where content is that is not encrypted.
const plainSpace = "plain"

// Seal encrypts content for recipients before it leaves the machine. The zero
// value encrypts nothing.
type Seal struct {
	recipients []age.Recipient
	space      string
}

// NewSeal takes age's recipients ("age1…"), one in each string; a string may
// also be the lines of a recipients file. None is the zero Seal.
func NewSeal(recipients []string) (Seal, error) {
	var lines []string
	for _, r := range recipients {
		for l := range strings.Lines(r) {
			if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
				lines = append(lines, l)
			}
		}
	}
	if len(recipients) == 0 {
		return Seal{}, nil
	}
	if len(lines) == 0 {
		return Seal{}, op.Errorf(op.Usage, "there is no recipient to encrypt for")
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	rs, err := age.ParseRecipients(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		return Seal{}, op.Errorf(op.Usage, "recipients: %s", cutSecret(err)).WithTry("age-keygen -o key.txt makes a pair; its public key (age1…) is the recipient")
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return Seal{rs, "age-" + hex.EncodeToString(sum[:8])}, nil
}

// cutSecret is an error of age without what it quotes: that may be a secret key
// in the wrong place.
func cutSecret(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\"")
	return strings.TrimSuffix(strings.TrimSpace(s), ":")
}

// Space is where content sealed this way is kept.
func (s Seal) Space() string {
	if s.space == "" {
		return plainSpace
	}
	return s.space
}

// writer encrypts into w. Closing it does not close w.
func (s Seal) writer(w io.Writer) (io.WriteCloser, error) {
	if len(s.recipients) == 0 {
		return nopCloser{w}, nil
	}
	return age.Encrypt(w, s.recipients...)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Key decrypts what a Seal has encrypted. The zero value reads what is plain.
type Key struct{ identities []age.Identity }

// NewKey reads an identity file of age ("AGE-SECRET-KEY-1…").
func NewKey(r io.Reader) (Key, error) {
	ids, err := age.ParseIdentities(r)
	if err != nil {
		return Key{}, op.Errorf(op.Usage, "identity file: %s", cutSecret(err))
	}
	return Key{ids}, nil
}

// reader decrypts what is kept in a space.
func (k Key) reader(space string, r io.Reader) (io.Reader, error) {
	if space == plainSpace {
		return r, nil
	}
	if len(k.identities) == 0 {
		return nil, final{errNoKey()}
	}
	plain, err := age.Decrypt(r, k.identities...)
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		return nil, final{op.Errorf(op.Precondition, "it is encrypted for others than the key given").WithTry("--identity FILE with the secret key of a recipient")}
	}
	return plain, err
}

// check says beforehand that a key is needed.
func (k Key) check(space string) error {
	if space != plainSpace && len(k.identities) == 0 {
		return errNoKey()
	}
	return nil
}

func errNoKey() *op.Error {
	return op.Errorf(op.Precondition, "the snapshot is encrypted").WithTry("--identity FILE with the secret key of a recipient")
}

// objectKey is where content is kept.
func objectKey(space, hash string) string {
	return fmt.Sprintf("objects/%s/%s/%s", space, hash[:2], hash)
}

// parseObjectKey is objectKey backwards.
func parseObjectKey(key string) (space, hash string, ok bool) {
	p := strings.Split(key, "/")
	if len(p) != 4 || p[0] != "objects" || !validSpace(p[1]) || !hexOf(p[3], 64) || p[2] != p[3][:2] {
		return "", "", false
	}
	return p[1], p[3], true
}
