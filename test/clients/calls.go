// Five calls with the client that oapi-codegen has generated. Prints what they showed, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"clients/api"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	signed := func(_ context.Context, request *http.Request) error {
		request.Header.Set("authorization", "Bearer "+os.Getenv("GATEWAY_TOKEN"))
		return nil
	}
	client := must(api.NewClientWithResponses(os.Getenv("GATEWAY_URL"), api.WithRequestEditorFn(signed)))
	budget := 0.05
	weight := int64(70)
	name := "first"
	firstTime := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime := time.Date(9999, 12, 31, 23, 59, 59, 999000000, time.UTC)
	tenant := must(client.PostTenantsWithResponse(ctx, nil, api.CreateTenant{Name: "from-go", BudgetCostUsd: &budget})).JSON200
	key := must(client.PostTenantsIdKeysWithResponse(ctx, tenant.Id, nil, api.CreateApiKey{Name: &name})).JSON200
	patch := api.PatchTenant{Weight: &weight, ActiveFrom: &firstTime, ActiveUntil: &lastTime}
	must(client.PatchTenantsIdWithResponse(ctx, tenant.Id, nil, patch))
	read := must(client.GetTenantsIdWithResponse(ctx, tenant.Id)).JSON200
	deleted := must(client.DeleteTenantsIdWithResponse(ctx, tenant.Id, nil))
	shown := map[string]any{
		"secret":          key.Secret != "",
		"weight":          read.Weight,
		"budget_cost_usd": read.BudgetCostUsd,
		"active_years":    []int{read.ActiveFrom.Year(), read.ActiveUntil.Year()},
		"is_made_now":     read.CreatedAt.Year() > 2024,
		"is_endless":      key.Key.ExpiresAt == nil,
		"deleted":         deleted.StatusCode(),
	}
	fmt.Println(string(must(json.Marshal(shown))))
}
