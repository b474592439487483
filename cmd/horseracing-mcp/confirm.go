package main

import (
	"crypto/rand"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// question is the error of a call that needs a person's confirmation.
type question struct{ words, id string }

func (q *question) Error() string { return q.words }

// result makes the host ask the person, and call again with the confirmation.
func (q *question) result() *mcp.CallToolResult {
	form := map[string]any{
		"type": "object", "required": []string{"pay"},
		"properties": map[string]any{"pay": map[string]any{"type": "string", "title": "Pay", "enum": []string{"no", "yes"}}},
	}
	ask := &mcp.ElicitParams{Message: q.words, RequestedSchema: form}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"pay": ask}, RequestState: q.id}
}

// confirmed returns nil if the person said yes to these words, and a question if they
// were not asked yet. A confirmation is for one question, and counts once.
func (s *server) confirmed(req *mcp.CallToolRequest, words string) error {
	can := req.ClientCapabilities()
	if can == nil || can.Elicitation == nil || can.Elicitation.Form == nil && can.Elicitation.URL != nil {
		return coded{notConfirmed, "nothing was sent: the person wants to be asked before each payment (--confirm), but this host cannot ask"}
	}
	reply, ok := req.Params.InputResponses["pay"].(*mcp.ElicitResult)
	if !ok {
		q := &question{words: words, id: rand.Text()}
		s.asked.Store(q.id, words)
		return q
	}
	asked, _ := s.asked.LoadAndDelete(req.Params.RequestState)
	switch {
	case asked != words:
		return coded{notConfirmed, "nothing was sent: the confirmation is not for this question, or something has changed since; register again to ask again"}
	case reply.Action != "accept" || reply.Content["pay"] != "yes":
		return coded{notConfirmed, "nothing was sent: the person was asked and did not say yes"}
	}
	return nil
}
