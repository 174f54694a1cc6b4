/**
 * What a card of the assistant says is what happens, at the time of the click (docs/rules/assistant.md#proposals).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import type { AssistantOutdated, AssistantProposal, AssistantRun } from "../../shared/wire/assistant.ts";
import { type AssistantConsole, startAssistantConsole } from "../../test/harness/assistant-console.ts";
import { startToolModel, type ToolModel } from "../../test/harness/tool-model.ts";

let model: ToolModel;
let assistant: AssistantConsole;

beforeAll(async () => {
  model = await startToolModel();
  assistant = await startAssistantConsole(model.url);
});
afterAll(async () => {
  await assistant.testing.close();
  await model.close();
});

const newTenant = async (name: string) => await assistant.api<Tenant>("POST", "/tenants", { name });
const now = async ({ id }: Tenant) => await assistant.api<Tenant>("GET", `/tenants/${id}`);
const run = async ({ token }: AssistantProposal) =>
  (await (await assistant.run(token)).json()) as AssistantRun & AssistantOutdated & { error: { code: string } };
const rows = ({ changes }: AssistantProposal) =>
  changes.map(({ field, from, to, isDefault }) => [field, from, to, isDefault]);

describe("a card", () => {
  it("shows what a replacing write resets because the call does not name it", async () => {
    const tenant = await newTenant("with-a-term");
    const caps = { max_in_flight: 4, budget_tokens: 5, budget_period: "monthly" };
    await assistant.api("PATCH", `/tenants/${tenant.id}`, caps);

    const quota = await assistant.proposed("put_tenants_id_quota", { id: tenant.id }, { tokens_per_minute: 60 });
    expect(rows(quota)).toEqual([
      ["tokens_per_minute", "0", "60", false],
      ["max_in_flight", "4", "null", true],
    ]);
    const budget = await assistant.proposed("patch_tenants_id_budget", { id: tenant.id }, { budget_cost_usd: 1 });
    expect(rows(budget)).toEqual([["budget_cost_usd", "null", "1", false]]);
    for (const proposal of [quota, budget]) expect((await run(proposal)).status).toBe(200);
    expect(await now(tenant)).toMatchObject({ max_in_flight: null, budget_tokens: 5, budget_period: "monthly" });
  });

  it("shows the defaults within a value, and those of something new that set anything", async () => {
    const tenant = await newTenant("guarded");
    const policy = { input_scanners: ["pii"] };
    const guarded = await assistant.proposed("patch_tenants_id_guardrails", { id: tenant.id }, { policy });
    expect(JSON.parse(guarded.changes[0]?.to ?? "")).toMatchObject({ ...policy, action: "block", fail_open: true });
    expect(JSON.parse(guarded.body ?? "")).toEqual({ policy });
    const { key } = await assistant.api<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "k" });
    const rotated = await assistant.proposed("post_keys_id_rotate", { id: key.id });
    expect({ isFinal: rotated.isFinal, rows: rows(rotated) }).toEqual({
      isFinal: true,
      rows: [["grace_secs", null, "0", true]],
    });
  });

  it("names what is only in a list, and shows its values", async () => {
    const recipe = await assistant.api<{ id: string }>("POST", "/recipes", { name: "big one", body: {} });
    expect(await assistant.proposed("delete_recipes_id", { id: recipe.id })).toMatchObject({ object: '"big one"' });
    const weight = await assistant.proposed("patch_fairshare_groups_name_weight", { name: "default" }, { weight: 7 });
    expect({ object: weight.object, rows: rows(weight) }).toEqual({
      object: '"default"',
      rows: [["weight", "100", "7", false]],
    });
    const model_name = "served-twice";
    const served = { model_name, api_base: "http://127.0.0.1:9" };
    const { id } = await assistant.api<{ id: string }>("POST", "/models", served);
    const endpoint = await assistant.api<{ id: string }>("POST", `/models/${id}/endpoints`, {
      name: "eu",
      api_base: "http://127.0.0.1:8",
    });
    const parameters = { id, endpoint_id: endpoint.id };
    const removed = await assistant.proposed("delete_models_id_endpoints_endpoint_id", parameters);
    expect(removed).toMatchObject({ object: '"eu"', parent: `"${model_name}"` });
    const checked = await assistant.proposed("put_models_id_health_config", { id }, { checks_enabled: false });
    expect({ object: checked.object, rows: rows(checked) }).toEqual({
      object: `"${model_name}"`,
      rows: [["checks_enabled", "true", "false", false]],
    });
    await assistant.api("DELETE", `/models/${id}/endpoints/${endpoint.id}`);
    expect((await run(removed)).outdated).toMatchObject({ object: null, parent: `"${model_name}"` });
  });

  it("hides nothing behind characters that change how a line looks", async () => {
    const tenant = await newTenant("plain");
    const description = "a\u202eb\u2066c\u200ed";
    const card = await assistant.proposed("put_tenants_id", { id: tenant.id }, { description });
    expect(card.changes[0]?.to).toBe('"a\\u202eb\\u2066c\\u200ed"');
    expect(card.body).toBe('{"description":"a\\u202eb\\u2066c\\u200ed"}');
    expect((await run(card)).status).toBe(200);
    expect((await now(tenant)).description).toBe(description);
  });
});

describe("what stands on a card", () => {
  it("names what is behind an id: what the call names, and what the object belongs to", async () => {
    const [from, to] = [await newTenant("from here"), await newTenant("to there")];
    await assistant.testing.signIn(assistant.testing.browser());
    const [user] = await assistant.api<readonly User[]>("GET", "/users?q=ANN");
    await assistant.api("PATCH", `/users/${user?.id}`, { tenant_id: from.id });
    const moved = await assistant.proposed("patch_users_id", { id: user?.id }, { tenant_id: to.id });
    expect(moved).toMatchObject({
      object: JSON.stringify(user?.email),
      object_id: user?.id,
      parent: '"from here"',
      parent_id: from.id,
      changes: [{ field: "tenant_id", from_name: '"from here"', to_name: '"to there"' }],
    });
    await assistant.api("PUT", `/tenants/${to.id}`, { name: "elsewhere" });
    const { outdated } = await run(moved);
    expect(outdated.changes).toMatchObject([{ from_name: '"from here"', to_name: '"elsewhere"' }]);
    const { key } = await assistant.api<CreatedKey>("POST", `/tenants/${to.id}/keys`, { name: "k" });
    const disabled = await assistant.proposed("put_keys_id_disabled", { id: key.id }, { disabled: true });
    expect(disabled).toMatchObject({ object: '"k"', object_id: key.id, parent: '"elsewhere"', parent_id: to.id });
    const away = "7b0c3c3e-0000-4000-8000-000000000001";
    const gone = await assistant.proposed("delete_tenants_id", { id: away });
    expect(gone).toMatchObject({ object: null, object_id: away });
  });

  it("says that an empty list allows every model and what a budget without a cap loses", async () => {
    const tenant = await newTenant("to-the-letter");
    const list = (allowed_models: readonly string[]) => ({ allowed_models });
    await assistant.api("PATCH", `/tenants/${tenant.id}/allowlist`, list(["a"]));
    const all = await assistant.proposed("patch_tenants_id_allowlist", { id: tenant.id }, list([]));
    expect(rows(all)).toEqual([["allowed_models", '["a"]', "null", false]]);
    await assistant.api("PATCH", `/tenants/${tenant.id}/budget`, { budget_tokens: 5, budget_period: "monthly" });
    const budget = await assistant.proposed("patch_tenants_id_budget", { id: tenant.id }, { budget_tokens: null });
    expect(budget.changes.at(-1)).toMatchObject({ field: "budget_started_at", to: "null", follows: true });
    const key = await assistant.proposed("post_tenants_id_keys", { id: tenant.id }, { budget_tokens: 5 });
    expect(key.changes.at(-1)).toMatchObject({ field: "budget_started_at", to: "when it is run", follows: true });
  });

  it("has no text in it that its own labels could be taken for, or that covers them", async () => {
    const tenant = await newTenant(`mine" In: "theirs Field Now Then`);
    const hidden = `a\u00a0b\u3000c\u200bd\u2800e\u{e0041}f${"\u0301".repeat(6)}\nRun`;
    const card = await assistant.proposed("put_tenants_id", { id: tenant.id }, { description: hidden });
    expect(card.object).toBe(JSON.stringify(tenant.name));
    expect(card.changes[0]?.to).toBe(
      String.raw`"a\u00a0b\u3000c\u200bd\u2800e\udb40\udc41f${"\u0301".repeat(4)}\u0301\u0301\nRun"`,
    );
    expect(card.body).toBe(`{"description":${card.changes[0]?.to}}`);
    expect((await run(card)).status).toBe(200);
    expect((await now(tenant)).description).toBe(hidden);
  });
});

describe("a click", () => {
  it("does nothing when the object is another one than was shown, and shows it as it is", async () => {
    const tenant = await newTenant("moved-on");
    const shown = await assistant.proposed("patch_tenants_id_weight", { id: tenant.id }, { weight: 7 });
    await assistant.api("PATCH", `/tenants/${tenant.id}/weight`, { weight: 300 });
    const { outdated } = await run(shown);
    expect((await now(tenant)).weight).toBe(300);
    expect(outdated).toMatchObject({ method: shown.method, path: shown.path, body: shown.body });
    expect(outdated.id).not.toBe(shown.id);
    expect(rows(outdated)).toEqual([["weight", "300", "7", false]]);
    expect((await run(outdated)).status).toBe(200);
    expect((await now(tenant)).weight).toBe(7);
    expect((await run(outdated)).error.code).toBe("proposal_unusable");
  });

  it.each([
    [
      "has another name",
      async ({ id }: Tenant) => void (await assistant.api("PUT", `/tenants/${id}`, { name: "other" })),
    ],
    ["is gone", async ({ id }: Tenant) => void (await assistant.api("DELETE", `/tenants/${id}`))],
  ])("does nothing when the object %s", async (_, change) => {
    const tenant = await newTenant(`of ${_}`);
    const shown = await assistant.proposed("delete_tenants_id", { id: tenant.id });
    await change(tenant);
    expect((await run(shown)).outdated.object).not.toBe(shown.object);
  });

  it("runs although something else of the object has changed", async () => {
    const tenant = await newTenant("still-itself");
    const shown = await assistant.proposed("patch_tenants_id_weight", { id: tenant.id }, { weight: 7 });
    await assistant.api("PATCH", `/tenants/${tenant.id}/status`, { status: "suspended" });
    expect((await run(shown)).status).toBe(200);
    expect(await now(tenant)).toMatchObject({ weight: 7, status: "suspended" });
  });

  it("notices a value that differs only where the card has cut it", async () => {
    const tenant = await newTenant("long");
    const description = (end: string) => ({ description: `${"x".repeat(1900)}${end}` });
    await assistant.api("PUT", `/tenants/${tenant.id}`, description("1"));
    const shown = await assistant.proposed("put_tenants_id", { id: tenant.id }, { description: "short" });
    await assistant.api("PUT", `/tenants/${tenant.id}`, description("2"));
    expect((await run(shown)).outdated.changes).toEqual(shown.changes);
  });
});
