package transport

import "testing"

func TestAPageIsRecognized(t *testing.T) {
	for body, want := range map[string]bool{
		"<!DOCTYPE html><p>x": true, " \n<HTML>": true, "<?xml version='1.0'?><html>": true,
		"<Error>no</Error>": false, "[]": false, `{"a":"<html>"}`: false, "": false,
	} {
		if got := IsHTML(nil, []byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}
