/**
 * Addresses that lead to nothing, and objects that are deleted under an open page: every view says so, keeps what was typed,
 * and never ends as an empty page.
 */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole, type Visit } from "../harness/browser/use-console.ts";

const fixture = useConsole();
const NOWHERE = "http://127.0.0.1:9/v1";
const SPEC = { partition: "gpu", launch_command: "exec serve", serving_port: 8000, target_replicas: 0 };
/** Longer than any time between two reads of an open page. */
const LATER_MS = 65_000;

const must = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> =>
  await fixture.gateway.must<T>(method, path, body);
const newTenant = async (): Promise<Tenant> => await must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });
const newModel = async (): Promise<Model> =>
  await must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    api_base: NOWHERE,
    health: { checks_enabled: false },
  });

/** A model with a spec that is not started. */
let managed: Model;
/** A tenant that is somebody else's. */
let foreign: Tenant;
beforeAll(async () => {
  managed = await newModel();
  await must("PUT", `/models/${managed.id}/managed`, SPEC);
  foreign = await newTenant();
});

/** What the browser complains of, except for answers that say that something is not there. */
const faultsOf = ({ problems }: Visit): readonly string[] =>
  problems().filter((problem) => !/status of 40[034]/.test(problem));

const WRONG = { "nobody has": () => randomUUID(), "is not a UUID": () => "x", "has other letters": () => "ÄÖ %2F <b>" };

describe.each(Object.entries(WRONG))("an id that %s", (_, idOf) => {
  const id = encodeURIComponent(idOf());
  it.each([
    [() => `/tenants/${id}`, "No such tenant"],
    [() => `/models/${id}`, "No such model"],
    [() => `/deployments/${id}`, "This model has no deployment"],
    [() => `/keys?key_id=${id}`, "No such key"],
    [() => `/users?user_id=${id}`, "No such user"],
    [() => `/mcp?server_id=${id}`, "No such server"],
    [() => `/logs?open=${id}`, "No such request"],
    [() => `/deployments?tab=recipes&recipe=${id}`, "No such recipe"],
    [() => `/models/${managed.id}?endpoint=${id}`, "No such endpoint"],
    [() => `/deployments/${managed.id}?replica=${id}`, "This replica is no longer in the list."],
    [() => `/reports/statement?tenant_id=${id}`, "No such tenant"],
    [() => `/audit?open=${id}`, "This change is not in the list"],
    [() => `/fairshare?cell=${id}`, "No such cell"],
    [() => `/nowhere/${id}`, "Page not found"],
  ])("is told an admin, case %#", async (pathOf, words) => {
    const visit = await fixture.open({ as: "admin" });
    await visit.page.goto(pathOf());
    await visit.page.getByText(words).first().waitFor();
    expect(faultsOf(visit)).toEqual([]);
  });

  it.each([
    [`/tenants/${id}`, "No such tenant"],
    [`/keys?key_id=${id}`, "No such key"],
    [`/logs?open=${id}`, "No such request"],
    [`/models/${id}`, "You cannot see this page"],
    [`/nowhere/${id}`, "Page not found"],
  ])("is told a user at %s", async (path, words) => {
    const visit = await fixture.open({ as: "user" });
    await visit.page.goto(path);
    await visit.page.getByText(words).first().waitFor();
    expect(faultsOf(visit)).toEqual([]);
  });
});

it("a user gets the same answer for what is somebody else's as for what does not exist", async () => {
  const { key } = await must<{ key: { id: string } }>("POST", `/tenants/${foreign.id}/keys`, {});
  const visit = await fixture.open({ as: "user" });
  for (const [path, words] of [
    [`/tenants/${foreign.id}`, "No such tenant"],
    [`/keys?key_id=${key.id}`, "No such key"],
  ] as const) {
    await visit.page.goto(path);
    await visit.page.getByText(words).first().waitFor();
    expect(await visit.page.content()).not.toContain(foreign.name);
  }
});

/** An object that is deleted while its page is open. */
interface Deleted {
  readonly name: string;
  readonly make: () => Promise<{ readonly path: string; readonly api: string }>;
  /** Something of the page that shows the object. */
  readonly shows: (page: Page) => Promise<void>;
  readonly words: string;
  /** A field that keeps what was typed, where the page stays. */
  readonly kept?: string;
}

const field = (label: string) => async (page: Page) => await page.getByLabel(label, { exact: true }).first().waitFor();

describe.each<Deleted>([
  {
    name: "a tenant",
    make: async () => {
      const { id } = await newTenant();
      return { path: `/tenants/${id}?tab=edit`, api: `/tenants/${id}` };
    },
    shows: field("Organization"),
    words: "was deleted while",
    kept: "Organization",
  },
  {
    name: "a model",
    make: async () => {
      const { id } = await newModel();
      return { path: `/models/${id}?tab=edit`, api: `/models/${id}` };
    },
    shows: field("Description"),
    words: "was deleted while",
    kept: "Description",
  },
  {
    name: "an endpoint",
    make: async () => {
      const { id } = await newModel();
      const body = { name: "e", api_base: NOWHERE, enabled: false };
      const made = await must<{ id: string }>("POST", `/models/${id}/endpoints`, body);
      return { path: `/models/${id}?endpoint=${made.id}`, api: `/models/${id}/endpoints/${made.id}` };
    },
    shows: field("Weight"),
    words: "No such endpoint",
  },
  {
    name: "a key",
    make: async () => {
      const tenant = await newTenant();
      const { key } = await must<{ key: { id: string } }>("POST", `/tenants/${tenant.id}/keys`, {});
      return { path: `/keys?key_id=${key.id}`, api: `/keys/${key.id}` };
    },
    shows: field("Description"),
    words: "No such key",
  },
  {
    name: "a user",
    make: async () => {
      const { user } = await fixture.open({ as: "user" });
      return { path: `/users?user_id=${user?.id}`, api: `/users/${user?.id}` };
    },
    shows: field("Role"),
    words: "No such user",
  },
  {
    name: "an MCP server",
    make: async () => {
      const body = { name: `s-${randomUUID()}`, upstream_url: "http://127.0.0.1:9/mcp" };
      const { id } = await must<{ id: string }>("POST", "/mcp-servers", body);
      return { path: `/mcp?server_id=${id}`, api: `/mcp-servers/${id}` };
    },
    shows: field("URL"),
    words: "No such server",
  },
  {
    name: "a recipe",
    make: async () => {
      const body = { name: `r-${randomUUID()}`, description: "", author: "", body: { partition: "gpu" } };
      const { id } = await must<{ id: string }>("POST", "/recipes", body);
      return { path: `/deployments?tab=recipes&recipe=${id}`, api: `/recipes/${id}` };
    },
    shows: field("Description"),
    words: "No such recipe",
  },
  {
    name: "a spec",
    make: async () => {
      const { id } = await newModel();
      await must("PUT", `/models/${id}/managed`, SPEC);
      return { path: `/deployments/${id}?tab=spec`, api: `/models/${id}/managed` };
    },
    shows: field("Partition"),
    words: "The deployment was deleted while this page was open.",
    kept: "Partition",
  },
])("$name that is deleted under an open page", ({ make, shows, words, kept }) => {
  it("is said to be gone, and what was typed stays where its form stays", async () => {
    const { path, api } = await make();
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.clock.install();
    await page.goto(path);
    await shows(page);
    if (kept !== undefined) await page.getByLabel(kept, { exact: true }).first().fill("typed-before");
    await must("DELETE", api);
    await page.clock.fastForward(LATER_MS);
    await page.getByText(words).first().waitFor();
    if (kept !== undefined) {
      expect(await page.getByLabel(kept, { exact: true }).first().inputValue()).toBe("typed-before");
      await page.getByRole("button", { name: "Save" }).first().click();
      await page
        .getByText(/ was not saved$/)
        .first()
        .waitFor();
      expect(await page.getByLabel(kept, { exact: true }).first().inputValue()).toBe("typed-before");
    }
    expect(faultsOf(visit)).toEqual([]);
  });
});
