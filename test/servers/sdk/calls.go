// Calls with OpenAI's SDK. Prints how each ended, as JSON: its text, or the status of its error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type call struct {
	Model  string `json:"model"`
	Text   string `json:"text"`
	Stream bool   `json:"stream"`
}

func text(client openai.Client, given call) (string, error) {
	ctx := context.Background()
	params := openai.ChatCompletionNewParams{
		Model:    given.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(given.Text)},
	}
	if !given.Stream {
		done, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return "", err
		}
		return done.Choices[0].Message.Content, nil
	}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	said := ""
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			said += choice.Delta.Content
		}
	}
	return said, stream.Err()
}

func outcome(client openai.Client, given call) map[string]any {
	said, err := text(client, given)
	var refused *openai.Error
	switch {
	case err == nil:
		return map[string]any{"text": said}
	case errors.As(err, &refused) && refused.StatusCode >= 400:
		return map[string]any{"status": refused.StatusCode}
	default:
		return map[string]any{"status": nil}
	}
}

func main() {
	client := openai.NewClient(
		option.WithBaseURL(os.Getenv("GATEWAY_URL")+"/v1"),
		option.WithAPIKey(os.Getenv("GATEWAY_KEY")),
	)
	var calls []call
	if err := json.Unmarshal([]byte(os.Getenv("GATEWAY_CALLS")), &calls); err != nil {
		panic(err)
	}
	outcomes := []map[string]any{}
	for _, given := range calls {
		outcomes = append(outcomes, outcome(client, given))
	}
	shown, err := json.Marshal(outcomes)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(shown))
}
