package program

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/horseracing-go/horseracing"
)

// Printable returns a text without what could steer a terminal: names are chosen
// by players.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// tokenPlaces is the number of decimal places of a token. It is undocumented;
// 18 is usual where amounts are as large as these.
const tokenPlaces = 18

// Tokens returns an amount in whole tokens, exactly.
func Tokens(amount horseracing.BigInt) string { return amount.Decimal(tokenPlaces) }

// Price returns an amount in whole tokens, exactly, with the word.
func Price(amount horseracing.BigInt) string {
	if tokens := Tokens(amount); tokens != "1" {
		return tokens + " tokens"
	}
	return "1 token"
}

// Fee returns an entry fee in whole tokens, exactly, the way a reader takes it in:
// free, 0.25, 1,234.
func Fee(amount horseracing.BigInt) string {
	if amount.IsZero() {
		return "free"
	}
	whole, fraction, isFraction := strings.Cut(Tokens(amount), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if isFraction {
		whole += "." + fraction
	}
	return whole
}

// ParseTokens is the inverse of Tokens, for amounts that are not negative.
func ParseTokens(text string) (horseracing.BigInt, error) {
	amount, err := horseracing.ParseDecimal(text, tokenPlaces)
	if err != nil || strings.ContainsAny(text, "-eE") {
		return horseracing.BigInt{}, fmt.Errorf("%q is not an amount of tokens such as 5 or 0.25", text)
	}
	return amount, nil
}

// Wins returns which horse wins a race, the fastest or the slowest.
func Wins(race *horseracing.Race) string {
	switch race.Type {
	case horseracing.RaceTypeBestTime:
		return "fastest"
	case horseracing.RaceTypeWorstTime:
		return "slowest"
	}
	return Printable(string(race.Type))
}

// Levels returns the levels that a race takes.
func Levels(race *horseracing.Race) string {
	switch {
	case race.MaxLevel == 0 && race.MinLevel == 0:
		return "any"
	case race.MaxLevel == 0:
		return fmt.Sprintf("%d and up", race.MinLevel)
	}
	return fmt.Sprintf("%d-%d", race.MinLevel, race.MaxLevel)
}
