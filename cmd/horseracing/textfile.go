package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// readText reads a file of text that people or other programs may have written: without the
// byte order mark that some editors add.
func readText(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, err = withoutMark(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

// withoutMark returns text without its byte order mark. UTF-16, which older PowerShells
// write with >, is an error.
func withoutMark(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return nil, errors.New("the text is UTF-16: write it as UTF-8, in PowerShell with | Out-File -Encoding utf8")
	}
	return bytes.TrimPrefix(text, byteOrderMark), nil
}

var byteOrderMark = []byte("\ufeff")
