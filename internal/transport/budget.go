package transport

import "sync"

// budget is a bucket of tokens that all calls of a client share. Each retry
// spends five; a success after retries refunds five for each, and a success at
// once earns one. Random faults leave enough, and in an outage the load soon
// falls to one attempt a call.
type budget struct {
	mu     sync.Mutex
	tokens int
}

const (
	budgetSize = 500
	retryCost  = 5
)

func newBudget() *budget { return &budget{tokens: budgetSize} }

// spend reports whether a retry may be made, and pays for it.
func (b *budget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < retryCost {
		return false
	}
	b.tokens -= retryCost
	return true
}

// earn credits a success after some retries.
func (b *budget) earn(retries int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+max(1, retries*retryCost), budgetSize)
}
