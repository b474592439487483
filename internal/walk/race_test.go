//go:build race

package walk

// raceDetector makes the exhaustive tests, in which one goroutine does
// everything, many times slower and finds nothing in them.
const raceDetector = true
