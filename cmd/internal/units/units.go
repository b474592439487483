// Package units writes amounts, for all programs: in units, as the service sends fees, and in
// tokens, which are assumed to have 18 decimal places.
package units

import (
	"math/big"

	"github.com/horseracing-go/horseracing"
)

// Amount is an amount in units: a BigInt, or a Number.
type Amount interface{ FormatUnits(places int) string }

// Format returns an amount of units as a number of tokens.
func Format(n Amount) string { return n.FormatUnits(horseracing.TokenDecimals) }

var (
	leastUnits = big.NewRat(1e15, 1)
	perToken   = big.NewRat(1e18, 1)
)

// Price returns the units of a breeding price. The service writes some in tokens and some in
// units: whole numbers of at least 10^15 are taken for units. A part of a unit is left out.
func Price(n horseracing.Number) horseracing.BigInt {
	price, _ := new(big.Rat).SetString(n.String()) // it is a number
	if !price.IsInt() || price.Cmp(leastUnits) < 0 {
		price.Mul(price, perToken)
	}
	return horseracing.BigIntFrom(new(big.Int).Quo(price.Num(), price.Denom()))
}
