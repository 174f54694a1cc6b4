/**
 * The records that the paths of the Management API name: for any documented path, records of a test's own with which it can
 * be called.
 */
import { randomUUID } from "node:crypto";
import { fillIn } from "./wrong-values.ts";

/** Sends a request with the admin token and a JSON body. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Response>;

export const unique = (word: string): string => `${word}-${randomUUID()}`;

/** Makes the records that a path names; returns the path with their names in it, and the record at its end. */
export async function targetOf(
  send: Send,
  path: string,
): Promise<{ readonly path: string; readonly record: Row | null }> {
  const make = async (where: string, body: object): Promise<Row> => {
    const response = await send("POST", `/api/v1${where}`, body);
    if (!response.ok) throw new Error(`POST ${where} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Row;
  };
  const tenant = async (): Promise<Row> => await make("/tenants", { name: unique("tenant") });
  const model = async (): Promise<Row> => await make("/models", { model_name: unique("model"), api_base: NOWHERE });
  const makeSpec = async ({ id }: Row): Promise<Row> => {
    const spec = { partition: "gpu", serving_port: 8000, launch_command: "serve" };
    const response = await send("PUT", `/api/v1/models/${String(id)}/managed`, spec);
    if (!response.ok) throw new Error(`PUT managed answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Row;
  };
  switch (collectionOf(path)) {
    case null:
      return { path, record: null };
    case "tenants":
      return named(path, await tenant());
    case "keys": {
      const created = await make(`/tenants/${String((await tenant())["id"])}/keys`, {});
      return named(path, created["key"] as Row);
    }
    case "models": {
      const owner = await model();
      if (path.includes("/managed")) return { path: fillIn(path, { id: owner["id"] }), record: await makeSpec(owner) };
      if (!path.includes("{endpoint_id}")) return named(path, owner);
      const body = { name: unique("endpoint"), api_base: NOWHERE };
      const endpoint = await make(`/models/${String(owner["id"])}/endpoints`, body);
      return { path: fillIn(path, { id: owner["id"], endpoint_id: endpoint["id"] }), record: endpoint };
    }
    case "replicas":
      return named(path, await make(`/models/${String((await model())["id"])}/replicas`, { job_id: unique("job") }));
    case "recipes":
      return named(path, await make("/recipes", { name: unique("recipe"), body: {} }));
    case "mcp-servers":
      return named(path, await make("/mcp-servers", { name: unique("mcp"), upstream_url: NOWHERE }));
    case "fairshare/groups":
      return named(path, await make("/fairshare/groups", { name: unique("group") }));
    case "alert-channels":
      return named(path, await make("/alert-channels", { name: unique("channel"), type: "webhook", url: NOWHERE }));
    case "alerts":
      return { path: fillIn(path, { key: `upstream_5xx_response:${unique("model")}` }), record: null };
    case "usage/logs":
      return { path: fillIn(path, { request_id: randomUUID() }), record: null };
    case "batches":
      // Only clients of the data plane make one.
      return { path: fillIn(path, { id: randomUUID() }), record: null };
    case "benchmarks":
      // One can only be had by sending real requests.
      return { path: fillIn(path, { id: randomUUID() }), record: null };
    case "invitations":
      return named(path, await make("/invitations", { email: `${unique("guest")}@example.org`, role: "auditor" }));
    case "group-grants":
      return named(
        path,
        await make("/group-grants", { provider: "corp", group_name: unique("group"), role: "auditor" }),
      );
    case "users":
      // People make themselves, by signing in to the console.
      return { path: fillIn(path, { id: randomUUID(), session_id: randomUUID() }), record: null };
    default:
      throw new Error(`${path}: say in test/harness/route-targets.ts how to make what it names`);
  }
}

type Row = Readonly<Record<string, unknown>>;

/** No server listens there. */
const NOWHERE = "http://127.0.0.1:9/v1";

function collectionOf(path: string): string | null {
  return /^\/api\/v1\/([^{]+)\/\{/.exec(path)?.[1] ?? null;
}

function named(path: string, record: Row): { readonly path: string; readonly record: Row } {
  return { path: fillIn(path, { id: record["id"], name: record["name"] }), record };
}
