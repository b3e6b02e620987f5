package cmd

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"sstool/inspect"
	"sstool/internal/op"
)

// entryDoc is one entry of sstool inspect sst --scan -o jsonl.
type entryDoc struct {
	File     string       `json:"file"`
	Family   string       `json:"column_family"`
	Sequence uint64       `json:"sequence"`
	Kind     string       `json:"kind"`
	Key      *inspect.Key `json:"key"`
	Value    *inspect.Key `json:"value"` // of a range delete: the first key that it spares; null for deletes
}

// scanSST streams the entries of the files.
func (a *app) scanSST(ctx context.Context, f *inspectSSTFlags, selected []inspect.Selection) error {
	out := bufio.NewWriterSize(a.io.Out, 64<<10)
	write := scanText(out)
	switch f.out.value {
	case formatJSONL:
		write = scanJSON(out)
	case formatCSV:
		write = scanCSV(out)
	}
	res, err := inspect.ScanSST(ctx, inspect.SSTScanOptions{Select: selected, Limit: f.limit.or(0), KeepGoing: f.keepGoing}, func(e *inspect.SSTEntry) error {
		if err := write(e); err != nil {
			return op.Errorf(op.Failed, "write stdout: %w", err)
		}
		return nil
	})
	if ferr := out.Flush(); ferr != nil && err == nil {
		err = op.Errorf(op.Failed, "write stdout: %w", ferr)
	}
	if err != nil {
		return err
	}
	for _, p := range res.Problems {
		fmt.Fprintf(a.io.Err, "problem: %s: %s\n", printable(p.Path), printable(p.What))
	}
	return problemsError("inspect sst --scan", res.Problems)
}

// scanText writes lines for people: sequence, kind, key => value.
func scanText(out *bufio.Writer) func(*inspect.SSTEntry) error {
	file := ""
	return func(e *inspect.SSTEntry) error {
		if e.File != file {
			file = e.File
			out.WriteString(printable("# "+e.File+" "+e.Family) + "\n")
		}
		line := strconv.FormatUint(e.Seq, 10)
		line = strings.Repeat(" ", max(0, 10-len(line))) + line + "  " + e.Kind.String() + strings.Repeat(" ", max(0, 7-len(e.Kind.String()))) + " " + e.KeyText()
		if v, ok := e.ValueText(); ok {
			line += " => " + v
		}
		_, err := out.WriteString(printable(line) + "\n")
		return err
	}
}

func scanJSON(out *bufio.Writer) func(*inspect.SSTEntry) error {
	return func(e *inspect.SSTEntry) error {
		d := entryDoc{File: e.File, Family: e.Family, Sequence: e.Seq, Kind: strings.ReplaceAll(e.Kind.String(), " ", "_"), Key: &inspect.Key{Hex: hex.EncodeToString(e.Key), Text: e.KeyText()}}
		if v, ok := e.ValueText(); ok {
			d.Value = &inspect.Key{Hex: hex.EncodeToString(e.Value), Text: v}
		}
		b, err := safeJSON(&d)
		if err != nil {
			return err
		}
		_, err = out.Write(append(b, '\n'))
		return err
	}
}

func scanCSV(out *bufio.Writer) func(*inspect.SSTEntry) error {
	w := csv.NewWriter(out)
	header := []string{"file", "column_family", "sequence", "kind", "key", "key_hex", "value", "value_hex"}
	return func(e *inspect.SSTEntry) error {
		if header != nil {
			if err := w.Write(header); err != nil {
				return err
			}
			header = nil
		}
		v, _ := e.ValueText()
		err := w.Write([]string{printable(e.File), printable(e.Family), strconv.FormatUint(e.Seq, 10), e.Kind.String(), printable(e.KeyText()), hex.EncodeToString(e.Key), printable(v), hex.EncodeToString(e.Value)})
		w.Flush()
		return err
	}
}
