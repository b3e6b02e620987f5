package lsm

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// inParts says how many goroutines a scan may use on files of any size.
func inParts(n int) ScanOptions {
	return ScanOptions{Parallel: n, least: 1, Turns: make(chan struct{}, 2)}
}

// TestVerifyInParts compares verifying a file in parts with verifying it in
// turn, over files of every form, whole and with a bit flipped anywhere.
func TestVerifyInParts(t *testing.T) {
	_, files := tables(t)
	together := 0
	for _, path := range files {
		x := openPath(t, path)
		want, errs := x.Verify(ScanOptions{}, nil)
		for _, n := range []int{2, 3, 50} {
			got, gotErrs := x.Verify(inParts(n), nil)
			if !reflect.DeepEqual(got, want) || len(gotErrs) != len(errs) {
				t.Errorf("%s in %d parts: %+v, %v\nin turn: %+v, %v", path, n, got, gotErrs, want, errs)
			}
			s := scan{t: x, o: inParts(n)}
			if s.info.OrderChecked = x.order.bytewise(); s.inParts() && want.DataBlocks > 1 {
				together++
			}
		}
	}
	if together < len(files) {
		t.Errorf("%d files were read in parts, expected most of %d three times", together, len(files))
	}
}

func TestDamageInParts(t *testing.T) {
	root, _ := unpack(t, "variants")
	path := smallest(t, filepath.Join(root, "fv5"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(data); off += 37 {
		bad := slices.Clone(data)
		bad[off] ^= 4
		file := filepath.Join(t.TempDir(), "bad.sst")
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := OpenTableFile(file)
		if err != nil {
			continue // found before any block
		}
		for _, on := range []bool{false, true} {
			o := inParts(3)
			o.KeepGoing = on
			want, errs := x.Verify(ScanOptions{KeepGoing: on}, nil)
			got, gotErrs := x.Verify(o, nil)
			if len(errs) == 0 || !reflect.DeepEqual(gotErrs, errs) || !reflect.DeepEqual(got, want) {
				t.Errorf("bit flipped at %d: in parts %v, in turn %v", off, gotErrs, errs)
			}
		}
		x.Close()
	}
}

// TestOrderBetweenParts puts a key that is too small at the head of a part.
func TestOrderBetweenParts(t *testing.T) {
	root, _ := unpack(t, "variants")
	files, err := filepath.Glob(filepath.Join(root, "fv5", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		x := openPath(t, file)
		st, err := x.newStream(nil)
		if err != nil {
			t.Fatal(err)
		}
		st.from = uint64(x.size) / 2
		b, h, err := st.next()
		if err != nil || st.squeezed > 0 || b[0] != 0 {
			continue // no block behind the middle, or not as it is in memory
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data[h.off+3] = 0 // behind three lengths: the first byte of its first key
		path := filepath.Join(t.TempDir(), "order.sst")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, size, err := openFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		x, err = openTable(path, f, size, true) // no checksum tells
		if err != nil {
			t.Fatal(err)
		}
		want, errs := x.Verify(ScanOptions{}, nil)
		got, gotErrs := x.Verify(inParts(2), nil)
		if len(errs) != 1 || !reflect.DeepEqual(gotErrs, errs) || !reflect.DeepEqual(got, want) {
			t.Errorf("in parts %v, in turn %v", gotErrs, errs)
		}
		return
	}
	t.Fatalf("none of %d files has a plain block behind its middle", len(files))
}
