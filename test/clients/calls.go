// Five calls with the client that oapi-codegen has generated. Prints what they showed, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

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
	tenant := must(client.PostTenantsWithResponse(ctx, nil, api.CreateTenant{Name: "from-go", BudgetCostUsd: &budget})).JSON200
	key := must(client.PostTenantsIdKeysWithResponse(ctx, tenant.Id, nil, api.CreateApiKey{Name: &name})).JSON200
	must(client.PatchTenantsIdWithResponse(ctx, tenant.Id, nil, api.PatchTenant{Weight: &weight}))
	read := must(client.GetTenantsIdWithResponse(ctx, tenant.Id)).JSON200
	deleted := must(client.DeleteTenantsIdWithResponse(ctx, tenant.Id, nil))
	shown := map[string]any{
		"secret":          key.Secret != "",
		"weight":          read.Weight,
		"budget_cost_usd": read.BudgetCostUsd,
		"deleted":         deleted.StatusCode(),
	}
	fmt.Println(string(must(json.Marshal(shown))))
}
