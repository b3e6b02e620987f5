package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// listDir is list in a directory. fileblob's own leaves out what it may not
// read: a snapshot that cannot be seen would be taken for one that is not there,
// and what it names for garbage.
func (b *Bucket) listDir(ctx context.Context, prefix string, fn func(object)) error {
	first, _, _ := strings.Cut(prefix, "/")
	root := filepath.Join(b.dir, first)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if cerr := ctx.Err(); cerr != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away meanwhile, or was never there
		}
		rel, rerr := filepath.Rel(b.dir, path)
		if rerr != nil {
			return rerr
		}
		key := unescaped(filepath.ToSlash(rel))
		if d != nil && d.IsDir() {
			if key += "/"; path != root && !strings.HasPrefix(key, prefix) && !strings.HasPrefix(prefix, key) {
				return fs.SkipDir
			}
			return err
		}
		if err != nil || !strings.HasPrefix(key, prefix) {
			return err
		}
		i, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fn(object{key, i.Size(), i.ModTime()})
		return nil
	})
}

// unescaped is the key of a file's name: fileblob writes __0x2f__ for a slash
// that would be misread, and for any other such character.
func unescaped(name string) string {
	if !strings.Contains(name, "__0x") {
		return name
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(name, "__0x")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		hex, after, closed := strings.Cut(rest, "__")
		r, err := strconv.ParseInt(hex, 16, 32)
		if !closed || err != nil {
			out.WriteString("__0x")
			name = rest
			continue
		}
		out.WriteRune(rune(r))
		name = after
	}
}
