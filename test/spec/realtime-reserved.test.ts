/** What responses of realtime sessions reserve, and for whom, on the running stack (docs/rules/realtime.md#budgets). */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { itemOf, openRealtime } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useStarted(startRealtimeUpstream);

describe("budgets", () => {
  it("of tokens count the whole conversation, whatever a response in between has read", async () => {
    const minted = await fixture.gateway.mint(upstream().url, "usage=5/1");
    await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 10_000 });
    const client = await openRealtime(fixture.gateway.proxyUrl, minted);
    for (const nth of [1, 2, 3]) {
      client.send(itemOf("text".repeat(4_000)));
      const response = nth < 3 ? { conversation: "none", input: [], max_output_tokens: 1 } : {};
      client.send({ type: "response.create", event_id: `${nth}`, response });
      if (nth < 3) await client.got("response.done", nth);
    }
    const { error } = (await client.got("error")) as { readonly error: unknown };
    expect(error).toMatchObject({ code: "request_larger_than_quota", event_id: "3" });
    client.socket.close();
  });

  it("of an end user end the session that names it in its header", async () => {
    const minted = await fixture.gateway.mint(upstream().url, "usage=20/480");
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { end_user_budget_tokens: 500 });
    const headers = { authorization: `Bearer ${minted.secret}`, "openai-safety-identifier": "ann" };
    const client = await openRealtime(fixture.gateway.proxyUrl, minted, { headers });
    const ask = { type: "response.create", response: { max_output_tokens: 480 } };
    client.send(ask);
    await client.got("response.done");
    client.send(ask);
    expect(await client.end()).toEqual({ code: 1008, reason: "end_user_budget_exhausted" });
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 3,
    );
    expect(rows.map(({ end_user }) => end_user)).toEqual(["ann", "ann", "ann"]);
  });
});
