package snapshot

import (
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"sstool/internal/files"
	"sstool/internal/op"
)

// CanLink says whether files of the bucket can be shared at all.
func (b *Bucket) CanLink() bool { return b.dir != "" }

// link makes the file a second name of its object in a file:// bucket, and says
// whether that was done: not for files that a database writes to again, not
// across file systems, and not for those of another user, whom the new name's
// owner could not be told from. Whatever is in the way, fetching serves: it also
// tells what is wrong with the object.
//
// The times are the object's, too: not those that the manifest tells.
func (b *Bucket) link(ctx context.Context, t Target, pr *progress) bool {
	if !b.o.Link || b.dir == "" || t.Manifest.Space != plainSpace {
		return false
	}
	if ext := path.Ext(t.File.Path); ext != ".sst" && ext != ".blob" {
		return false
	}
	object := filepath.Join(b.dir, filepath.FromSlash(objectKey(plainSpace, t.File.SHA256)))
	i, err := os.Lstat(object)
	if err != nil || !i.Mode().IsRegular() || i.Size() != t.File.Size {
		return false
	}
	if st, ok := i.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	part := t.Path + ".part"
	_ = os.Remove(part)
	if os.Link(object, part) != nil {
		return false
	}
	var c counter
	if !b.linked(ctx, part, t.File, io.MultiWriter(pr, &c)) {
		pr.add(-c.n)
		_ = os.Remove(part)
		return false
	}
	if os.Rename(part, t.Path) != nil {
		pr.add(-c.n)
		_ = os.Remove(part)
		return false
	}
	return files.SyncDir(filepath.Dir(t.Path)) == nil
}

// linked says whether the link, which is read at the bandwidth that is allowed,
// has the content that the manifest says.
func (b *Bucket) linked(ctx context.Context, name string, want *File, seen io.Writer) bool {
	f, _, err := op.OpenFile(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return want.is(io.TeeReader(&meteredReader{ctx, f, func() {}, b.limit}, seen)) && ctx.Err() == nil
}
