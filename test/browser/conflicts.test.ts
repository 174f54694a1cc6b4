/**
 * Two admins edit one object: on every form the second is told what the first has set, is shown the difference, and loses
 * nothing that was typed.
 */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();
const NOWHERE = "http://127.0.0.1:9/v1";
const TOLD = "Someone else changed this while you were editing";
const SPEC = {
  partition: "gpu",
  launch_command: 'exec serve --port "$GATEWAY_SERVING_PORT"',
  serving_port: 8000,
  target_replicas: 0,
};

const must = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> =>
  await fixture.gateway.must<T>(method, path, body);
const newTenant = async (): Promise<Tenant> => await must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });
const newModel = async (fields: object = {}): Promise<Model> =>
  await must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    health: { checks_enabled: false },
    ...fields,
  });
const newUser = async (): Promise<User> => {
  const { user } = await fixture.open({ as: "user" });
  if (user === null) throw new Error("the role has a user");
  return user;
};

/** An object that two edit: where its form is, and what the other one does meanwhile. */
interface Edited {
  readonly path: string;
  readonly theirs: () => Promise<unknown>;
  /** The value of the field that the API has now. */
  readonly now: () => Promise<unknown>;
}

interface Form {
  readonly name: string;
  readonly field: string;
  /** What the second types or chooses, and what the first has set, as the notice shows it. */
  readonly mine: string;
  readonly shown: string;
  /** What is stored in the end. */
  readonly stored: unknown;
  readonly make: () => Promise<Edited>;
}

const ofTenant = (tab: string, part: string, field: string, body: object) => async (): Promise<Edited> => {
  const { id } = await newTenant();
  return {
    path: `/tenants/${id}?tab=${tab}`,
    theirs: async () => await must("PATCH", `/tenants/${id}/${part}`, body),
    now: async () => (await must<Record<string, unknown>>("GET", `/tenants/${id}`))[field],
  };
};
const ofModel = (tab: string, part: string, field: string, body: object) => async (): Promise<Edited> => {
  const { id } = await newModel({ api_base: NOWHERE });
  return {
    path: `/models/${id}?tab=${tab}`,
    theirs: async () => await must("PUT", `/models/${id}${part}`, body),
    now: async () => (await must<Record<string, unknown>>("GET", `/models/${id}`))[field],
  };
};

const FORMS: readonly Form[] = [
  {
    name: "a tenant's budget",
    field: "Budget in tokens",
    mine: "7",
    shown: "5",
    stored: 7,
    make: ofTenant("edit", "budget", "budget_tokens", { budget_tokens: 5, budget_period: "monthly" }),
  },
  {
    name: "a tenant's models",
    field: "Allowed models",
    mine: "mine",
    shown: "theirs",
    stored: ["mine"],
    make: ofTenant("edit", "allowlist", "allowed_models", { allowed_models: ["theirs"] }),
  },
  {
    name: "a tenant's hours",
    field: "Access ends",
    mine: "2031-02-03T04:05:06",
    shown: "2030",
    stored: "2031-02-03T04:05:06.000Z",
    make: ofTenant("edit", "schedule", "active_until", { active_until: "2030-01-01T00:00:00Z" }),
  },
  {
    name: "a tenant's guardrails",
    field: "Banned keywords",
    mine: "mine",
    shown: "theirs",
    stored: ["mine"],
    make: async () => {
      const { id } = await newTenant();
      const policy = { action: "block", input_scanners: ["ban_keywords"], ban_keywords: ["before"] };
      const put = async (ban_keywords: readonly string[]) =>
        await must("PATCH", `/tenants/${id}/guardrails`, { policy: { ...policy, ban_keywords } });
      await put(["before"]);
      return {
        path: `/tenants/${id}?tab=policies`,
        theirs: async () => await put(["theirs"]),
        now: async () => (await must<Tenant>("GET", `/tenants/${id}`)).guardrails_policy?.ban_keywords,
      };
    },
  },
  {
    name: "a key",
    field: "Description",
    mine: "mine",
    shown: "theirs",
    stored: "mine",
    make: async () => {
      const tenant = await newTenant();
      const { key } = await must<{ key: { id: string } }>("POST", `/tenants/${tenant.id}/keys`, { name: "k" });
      return {
        path: `/keys?key_id=${key.id.toUpperCase()}`,
        theirs: async () => await must("PUT", `/keys/${key.id}`, { description: "theirs" }),
        now: async () => (await must<{ description: string }>("GET", `/keys/${key.id}`)).description,
      };
    },
  },
  {
    name: "a user",
    field: "State",
    mine: "disabled",
    shown: "Admin",
    stored: "disabled",
    make: async () => {
      const { id } = await newUser();
      return {
        path: `/users?user_id=${id}`,
        theirs: async () => await must("PATCH", `/users/${id}`, { role: "admin" }),
        now: async () => (await must<User>("GET", `/users/${id}`)).status,
      };
    },
  },
  {
    name: "a model's reliability",
    field: "Wait before a retry (ms)",
    mine: "700",
    shown: "500",
    stored: 700,
    make: ofModel("edit", "/reliability", "retry_backoff_ms", { retry_backoff_ms: 500 }),
  },
  {
    name: "a model's capacity",
    field: "Max concurrency",
    mine: "7",
    shown: "5",
    stored: 7,
    make: ofModel("edit", "/capacity", "max_in_flight", { max_in_flight: 5 }),
  },
  {
    name: "a model's cache",
    field: "Keep responses for (s)",
    mine: "70",
    shown: "50",
    stored: 70,
    make: ofModel("edit", "/cache", "cache_ttl_secs", { cache_enabled: false, cache_ttl_secs: 50 }),
  },
  {
    name: "an endpoint",
    field: "Weight",
    mine: "7",
    shown: "5",
    stored: 7,
    make: async () => {
      const model = await newModel();
      const path = `/models/${model.id}/endpoints`;
      const { id } = await must<{ id: string }>("POST", path, { name: "e", api_base: NOWHERE, enabled: false });
      return {
        path: `/models/${model.id}?endpoint=${id}`,
        theirs: async () => await must("PUT", `${path}/${id}`, { weight: 5 }),
        now: async () => (await must<readonly { weight: number }[]>("GET", path))[0]?.weight,
      };
    },
  },
  {
    name: "an MCP server",
    field: "URL",
    mine: "http://127.0.0.1:9/mine",
    shown: "http://127.0.0.1:9/theirs",
    stored: "http://127.0.0.1:9/mine",
    make: async () => {
      const body = { name: `s-${randomUUID()}`, upstream_url: "http://127.0.0.1:9/mcp" };
      const { id } = await must<McpServer>("POST", "/mcp-servers", body);
      return {
        path: `/mcp?server_id=${id.toUpperCase()}`,
        theirs: async () => await must("PUT", `/mcp-servers/${id}`, { upstream_url: "http://127.0.0.1:9/theirs" }),
        now: async () => (await must<McpServer>("GET", `/mcp-servers/${id}`)).upstream_url,
      };
    },
  },
  {
    name: "a spec",
    field: "Partition",
    mine: "mine",
    shown: "theirs",
    stored: "mine",
    make: async () => {
      const { id } = await newModel();
      await must("PUT", `/models/${id}/managed`, SPEC);
      return {
        path: `/deployments/${id}?tab=spec`,
        theirs: async () => await must("PUT", `/models/${id}/managed`, { ...SPEC, partition: "theirs" }),
        now: async () => (await must<{ partition: string }>("GET", `/models/${id}/managed`)).partition,
      };
    },
  },
  {
    name: "a recipe",
    field: "Description",
    mine: "mine",
    shown: "theirs",
    stored: "mine",
    make: async () => {
      const body = { name: `r-${randomUUID()}`, description: "before", author: "", body: { partition: "gpu" } };
      const { id } = await must<{ id: string }>("POST", "/recipes", body);
      return {
        path: `/deployments?tab=recipes&recipe=${id}`,
        theirs: async () => await must("PUT", `/recipes/${id}`, { ...body, description: "theirs" }),
        now: async () =>
          (await must<readonly { id: string; description: string }[]>("GET", "/recipes?limit=1000")).find(
            (one) => one.id === id,
          )?.description,
      };
    },
  },
  {
    name: "a setting",
    field: "Days",
    mine: "71",
    shown: "51",
    stored: 71,
    make: async () => {
      await must("PUT", "/settings/usage-retention", { days: 61 });
      return {
        path: "/settings?tab=retention",
        theirs: async () => await must("PUT", "/settings/usage-retention", { days: 51 }),
        now: async () => (await must<{ days: number }>("GET", "/settings/usage-retention")).days,
      };
    },
  },
];

/** Lets the other admin write after the page has read, and before its own write arrives. */
async function writeFirst(page: Page, theirs: () => Promise<unknown>): Promise<void> {
  await page.route("**/api/live/**", async (route) => {
    if (["PUT", "PATCH"].includes(route.request().method())) await theirs();
    await route.continue();
  });
}

/** Types or chooses a value. */
async function enter(page: Page, field: string, value: string): Promise<void> {
  const control = page.locator("form").getByLabel(field, { exact: true }).first();
  if ((await control.evaluate((element) => element.tagName)) === "SELECT") await control.selectOption(value);
  else await control.fill(value);
}

describe.each(FORMS)("$name", ({ field, mine, shown, stored, make }) => {
  it("changed meanwhile by another admin is shown with the difference and keeps what was typed", async () => {
    const { path, theirs, now } = await make();
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(path);
    await enter(page, field, mine);
    await theirs();
    const form = page
      .locator("form")
      .filter({ has: page.getByLabel(field, { exact: true }) })
      .first();
    await form.getByRole("button", { name: "Save" }).click();
    const notice = form.getByText(TOLD).locator("..");
    await notice.waitFor();
    await notice.getByText(shown).first().waitFor();
    await form.getByRole("button", { name: "Keep mine" }).click();
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    expect(await now()).toEqual(stored);
  });

  it("changed by another admin while the write is on its way is not overwritten", async () => {
    const { path, theirs, now } = await make();
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(path);
    await enter(page, field, mine);
    await writeFirst(page, theirs);
    const form = page
      .locator("form")
      .filter({ has: page.getByLabel(field, { exact: true }) })
      .first();
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText(/has changed since it was read/).waitFor();
    expect(await now()).not.toEqual(stored);
  });
});

it("sets no policy over the one that another admin has just set", async () => {
  const { id } = await newTenant();
  const policy = { action: "block", input_scanners: ["ban_keywords"], ban_keywords: ["theirs"] };
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${id}?tab=policies`);
  await writeFirst(page, async () => await must("PATCH", `/tenants/${id}/guardrails`, { policy }));
  await page.getByRole("button", { name: "Set policy: Guardrails" }).click();
  await page.getByLabel("Personal data (PII)").first().check();
  await page.getByRole("button", { name: "Save" }).click();
  await page
    .locator("form")
    .getByText(/has changed since it was read/)
    .waitFor();
  expect((await must<Tenant>("GET", `/tenants/${id}`)).guardrails_policy).toMatchObject(policy);
});

it("creates no spec over the one that another admin has just created", async () => {
  const { id } = await newModel();
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/deployments/new?model_id=${id}`);
  await page.getByLabel("Partition").fill("mine");
  await page.getByLabel("First port").fill("8000");
  await page.getByLabel("Command", { exact: true }).fill("serve");
  await writeFirst(page, async () => await must("PUT", `/models/${id}/managed`, SPEC));
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("This model already has a deployment.").first().waitFor();
  expect(await must("GET", `/models/${id}/managed`)).toMatchObject(SPEC);
});
