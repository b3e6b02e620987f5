package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// library is a RocksDB ready to be linked: Include holds rocksdb/c.h, File is
// the shared library.
type library struct {
	Root    string
	Include string
	File    string
}

func (l *library) includeDir() string { return l.Include }
func (l *library) libDir() string     { return filepath.Dir(l.File) }

// locate finds the user's own RocksDB (ROCKSDB_DIR) or the cached one,
// fetching it the first time.
func locate() (*library, error) {
	if dir := os.Getenv("ROCKSDB_DIR"); dir != "" {
		return own(dir)
	}
	p, err := pinFor(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	header, version, err := headerFile()
	if err != nil {
		return nil, err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no cache folder: %w (set XDG_CACHE_HOME)", err)
	}
	c := cache{
		base:   filepath.Join(base, "sstool", "native"),
		name:   fmt.Sprintf("%s-grocksdb-%s-%s-%s", rocksVersion, version, runtime.GOOS, runtime.GOARCH),
		pin:    p,
		header: header,
		fetch:  fetchJar,
	}
	return c.ensure()
}

// own is the RocksDB in dir, laid out as `make install` of RocksDB or a
// distribution package does.
func own(dir string) (*library, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	l := &library{Root: dir, Include: filepath.Join(dir, "include")}
	if _, err := os.Stat(filepath.Join(l.Include, "rocksdb", "c.h")); err != nil {
		return nil, fmt.Errorf("ROCKSDB_DIR=%s: there is no include/rocksdb/c.h in it", dir)
	}
	for _, pattern := range []string{"lib", "lib64", "lib/*-linux-gnu*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern, libraryName()))
		if err == nil && len(found) > 0 {
			l.File = found[0]
			return l, nil
		}
	}
	return nil, fmt.Errorf("ROCKSDB_DIR=%s: there is no lib/%s in it (a shared library is needed)", dir, libraryName())
}

// copyTo puts the library into dir under the name the dynamic linker will ask
// for, which is its SONAME when it has one.
func (l *library) copyTo(dir string) error {
	name := filepath.Base(l.File)
	if runtime.GOOS != "darwin" {
		s, err := soname(l.File)
		if err != nil {
			return err
		}
		if s != "" {
			name = s
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return copyFile(l.File, filepath.Join(dir, name))
}

// soname is the DT_SONAME of an ELF library, "" when it has none.
func soname(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if len(names) == 0 {
		return "", nil
	}
	return names[0], nil
}

// copyFile replaces dst atomically: a running sstool keeps its old library.
func copyFile(src, dst string) error {
	data, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	return writeFile(dst, data, 0o755)
}

func writeFile(dst string, data []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(dst), "."+filepath.Base(dst)+".*")
	if err != nil {
		return err
	}
	_, werr := tmp.Write(data)
	err = errors.Join(werr, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), dst)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
