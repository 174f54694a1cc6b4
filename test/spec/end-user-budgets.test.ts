/**
 * Budgets of end users on the running stack (docs/rules/budgets.md#end-users).
 * @module-tag processes
 */
import { expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

async function chatAs(
  minted: Minted,
  user: string | null,
): Promise<{ status: number; code: string | null; id: string }> {
  const body = { max_tokens: 40, ...(user === null ? {} : { user }) };
  const response = await fixture.gateway.chat(minted, { body });
  const { error } = (await response.json()) as { error?: { code: string } };
  const id = response.headers.get("x-gateway-request-id") ?? "";
  return { status: response.status, code: error?.code ?? null, id };
}

async function setBudget(minted: Minted, budget: object): Promise<void> {
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
}

it("of 500 tokens under 32 clients of one end user ends at 500 and one request at most", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=20");
  await setBudget(minted, { end_user_budget_tokens: 500, end_user_budget_period: "monthly" });
  const clients = Array.from({ length: 32 }, async () => {
    for (;;) {
      const answer = await chatAs(minted, "ann");
      if (answer.status !== 200) return answer;
    }
  });
  const last = await Promise.all(clients);
  expect(last.map(({ status, code }) => [status, code])).toEqual(last.map(() => [403, "end_user_budget_exhausted"]));
  for (const { id } of last) await fixture.gateway.row(minted.tenant.id, id);
  const rows = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id, "&status=success"),
    (found) => found.length === fixture.upstream.seen(minted.mark).length,
  );
  const used = rows.reduce((sum, row) => sum + row.total_tokens, 0);
  const largest = Math.max(...rows.map((row) => Math.max(row.total_tokens, row.estimated_tokens)));
  expect({ used, isWithin: used > 0 && used <= 500 + largest }).toMatchObject({ isWithin: true });
  expect(await chatAs(minted, "bob")).toMatchObject({ status: 200 });
  expect(await chatAs(minted, null)).toMatchObject({ status: 200 });
});

it("of 0 refuses before the upstream, in the end user's row, until it is removed", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  await setBudget(minted, { end_user_budget_cost_usd: 0 });
  const refused = await chatAs(minted, "ann");
  expect(refused).toMatchObject({ status: 403, code: "end_user_budget_exhausted" });
  expect(fixture.upstream.seen(minted.mark)).toEqual([]);
  expect(await fixture.gateway.row(minted.tenant.id, refused.id)).toMatchObject({
    end_user: "ann",
    error_code: "end_user_budget_exhausted",
    total_tokens: 0,
  });
  await setBudget(minted, { end_user_budget_cost_usd: null });
  expect(await chatAs(minted, "ann")).toMatchObject({ status: 200 });
});

it("knows what an end user has used before there was a budget", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  const before = await Promise.all(Array.from({ length: 8 }, async () => await chatAs(minted, "ann")));
  const rows = await Promise.all(before.map(async ({ id }) => await fixture.gateway.row(minted.tenant.id, id)));
  const used = rows.reduce((sum, row) => sum + row.total_tokens, 0);
  await setBudget(minted, { end_user_budget_tokens: used });
  // A decision waits for the ledger at most 400 ms; without its answer, eight more would be served.
  const after: number[] = [];
  while (after.at(-1) !== 403 && after.length < 8) after.push((await chatAs(minted, "ann")).status);
  expect({ served: after.length - 1, last: after.at(-1), isFew: after.length <= 4 }).toMatchObject({
    last: 403,
    isFew: true,
  });
  expect(await chatAs(minted, "bob")).toMatchObject({ status: 200 });
});

it("binds a form whose end user comes after a large file", async () => {
  const minted = await mintAt(fixture.gateway, upstream, {});
  await setBudget(minted, { end_user_budget_tokens: 0 });
  const form = new FormData();
  form.set("model", minted.model.model_name);
  form.set("file", new File([new Uint8Array(1_000_000)], "x.wav"));
  form.set("user", "ann");
  const response = await fetch(`${fixture.gateway.proxyUrl}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}` },
    body: form,
  });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 403,
    body: { error: { code: "end_user_budget_exhausted" } },
  });
  expect(upstream.seen(minted.mark)).toEqual([]);
});
