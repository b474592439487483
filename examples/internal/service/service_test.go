package service

import "testing"

func TestConnectReadsAFakeUnlessTheEnvironmentNamesAService(t *testing.T) {
	t.Setenv("HORSERACING_BASE_URL", "")
	t.Setenv("HORSERACING_API_KEY", "")
	client, fake, err := Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	if races, err := client.Races.Open(t.Context()); err != nil || len(races) == 0 {
		t.Errorf("%d open races, %v", len(races), err)
	}
	t.Setenv("HORSERACING_API_KEY", "a key")
	if _, fake, err := Connect(); err == nil || fake != nil {
		t.Errorf("a key without an address: %v, %v", fake, err)
	}
	t.Setenv("HORSERACING_BASE_URL", "https://game.test")
	if client, fake, err := Connect(); err != nil || fake != nil || client.BaseURL() != "https://game.test" {
		t.Errorf("the real service: %v, %v, %v", client, fake, err)
	}
}
