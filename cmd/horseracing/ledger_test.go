package main

import "testing"

// A registration whose outcome is unknown ends with status 7, and the next run settles its own
// pair alone.
func TestARegistrationWhoseOutcomeIsUnknownIsStatus7(t *testing.T) {
	t.Parallel()
	fake, _, _ := newRegistration(t)
	transcript(t, fake, "unknown", nil)
}

func TestALedgerIsDecidedOrSettled(t *testing.T) {
	t.Parallel()
	fake, _, _ := newRegistration(t)
	transcript(t, fake, "ledger", nil)
}
