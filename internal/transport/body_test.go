package transport

import "testing"

func TestABodyThatBeginsLikeJSONAndEndsOtherwiseIsCut(t *testing.T) {
	for body, want := range map[string]bool{
		"": false, " ": false, "[]": false, "{}": false, " [1] \r\n": false, "null": false, `"text`: false, "x": false,
		"[": true, "{": true, `{"a":1`: true, `[{"a":1}`: true, `[{"a":1},`: true, `{"a":[1]`: true, "[}": true, "[]x": true,
	} {
		if got := isCut([]byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}

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
