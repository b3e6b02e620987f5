//go:build cgo

package rocks

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/lsm"
)

// BenchmarkVerifyFormats verifies files of 256 MiB in the formats and with the
// checksums that Kafka Streams' versions write, in turn with merely reading
// them, on two cores. Only the ratio counts.
func BenchmarkVerifyFormats(b *testing.B) {
	for _, format := range []string{"5", "6"} {
		for _, sum := range []string{"kCRC32c", "kXXH3"} {
			b.Run("format "+format+" "+sum, func(b *testing.B) {
				files := writeFormat(b, format, sum)
				var verify, read time.Duration
				for b.Loop() {
					begun := time.Now()
					lsm.ScanFiles(files, 2, lsm.ScanOptions{}, func(_ int, i lsm.SSTInfo, errs []error) bool {
						if len(errs) > 0 || fmt.Sprint(i.FormatVersion) != format || i.ChecksumType != sum {
							b.Fatalf("format %d, %s, %v", i.FormatVersion, i.ChecksumType, errs)
						}
						return true
					})
					verified := time.Now()
					readFiles(b, files)
					verify, read = verify+verified.Sub(begun), read+time.Since(verified)
				}
				b.ReportMetric(read.Seconds()/verify.Seconds(), "of-a-plain-read")
			})
		}
	}
}

// writeFormat writes rows of 16 and 100 bytes to four files.
func writeFormat(b *testing.B, format, sum string) (files []string) {
	text := strings.Replace(optionString(Options{Bulk: true}), "format_version=5", "format_version="+format, 1)
	o, err := grocksdb.GetOptionsFromString(nil, strings.Replace(text, "kCRC32c", sum, 1))
	if err != nil {
		b.Fatal(err)
	}
	defer o.Destroy()
	env := grocksdb.NewDefaultEnvOptions()
	defer env.Destroy()
	random := rand.New(rand.NewPCG(1, 2))
	key, value := make([]byte, 16), make([]byte, 100)
	n := uint64(0)
	for i := range 4 {
		w := grocksdb.NewSSTFileWriter(env, o)
		path := filepath.Join(b.TempDir(), fmt.Sprintf("%d.sst", i))
		if err := w.Open(path); err != nil {
			b.Fatal(err)
		}
		for range 500_000 {
			n += 1 + random.Uint64N(1<<20)
			binary.BigEndian.PutUint64(key, n)
			binary.LittleEndian.PutUint64(value[8:], random.Uint64())
			if err := w.Put(key, value); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			b.Fatal(err)
		}
		w.Destroy()
		files = append(files, path)
	}
	return files
}

// readFiles reads files to their ends, two at a time.
func readFiles(b *testing.B, files []string) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, 2)
	for _, path := range files {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			f, err := os.Open(path)
			if err != nil {
				b.Error(err)
				return
			}
			defer f.Close()
			buf := make([]byte, 512<<10)
			for err == nil {
				_, err = f.Read(buf)
			}
			if err != io.EOF {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}
