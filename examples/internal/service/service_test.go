package service

import (
	"testing"

	"github.com/horseracing-go/horseracing/guarantees/double"
)

func TestConnectReadsAFakeUnlessTheEnvironmentNamesAService(t *testing.T) {
	t.Setenv("HORSERACING_BASE_URL", "")
	t.Setenv("HORSERACING_API_KEY", "")
	client, fake, err := Connect()
	double.Error(t, "the fake", nil, "", err)
	defer fake.Close()
	double.Equal(t, "races of the fake", true, len(double.Must(client.Races.Open(t.Context()))) > 0)
	t.Setenv("HORSERACING_API_KEY", "a key") // without an address
	_, none, err := Connect()
	double.Equal(t, "is an error and no fake", true, err != nil && none == nil)
	t.Setenv("HORSERACING_BASE_URL", "https://game.test")
	client, none, err = Connect()
	double.Equal(t, "is the real service", true, err == nil && none == nil && client.BaseURL() == "https://game.test")
}
