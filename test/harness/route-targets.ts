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

type Row = Readonly<Record<string, unknown>>;

/** No server listens there. */
const NOWHERE = "http://127.0.0.1:9/v1";

/** The bodies with which records are made that belong to no other one, by their collection. */
const BODIES: Readonly<Record<string, () => object>> = {
  tenants: () => ({ name: unique("tenant") }),
  recipes: () => ({ name: unique("recipe"), body: {} }),
  "mcp-servers": () => ({ name: unique("mcp"), upstream_url: NOWHERE }),
  "fairshare/groups": () => ({ name: unique("group") }),
  "alert-channels": () => ({ name: unique("channel"), type: "webhook", url: NOWHERE }),
  invitations: () => ({ email: `${unique("guest")}@example.org`, role: "auditor" }),
  "group-grants": () => ({ provider: "corp", group_name: unique("group"), role: "auditor" }),
};

/**
 * Names of what the Management API does not make: batches are made by clients of the data plane, benchmarks by sending real
 * requests, and people make themselves, by signing in to the console.
 */
const NOT_MADE: Readonly<Record<string, () => Row>> = {
  alerts: () => ({ key: `upstream_5xx_response:${unique("model")}` }),
  "usage/logs": () => ({ request_id: randomUUID() }),
  batches: () => ({ id: randomUUID() }),
  benchmarks: () => ({ id: randomUUID() }),
  users: () => ({ id: randomUUID(), session_id: randomUUID() }),
};

/** Makes the records that a path names; returns the path with their names in it, and the record at its end. */
export async function targetOf(
  send: Send,
  path: string,
): Promise<{ readonly path: string; readonly record: Row | null }> {
  const make = async (where: string, body: object, method = "POST"): Promise<Row> => {
    const response = await send(method, `/api/v1${where}`, body);
    if (!response.ok) throw new Error(`${method} ${where} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Row;
  };
  const named = (record: Row) => ({ path: fillIn(path, { id: record["id"], name: record["name"] }), record });
  const collection = /^\/api\/v1\/([^{]+)\/\{/.exec(path)?.[1];
  if (collection === undefined) return { path, record: null };
  const [body, names] = [BODIES[collection], NOT_MADE[collection]];
  if (body !== undefined) return named(await make(`/${collection}`, body()));
  if (names !== undefined) return { path: fillIn(path, names()), record: null };
  if (collection === "keys") {
    const { id } = await make("/tenants", { name: unique("tenant") });
    return named((await make(`/tenants/${String(id)}/keys`, {}))["key"] as Row);
  }
  const { id, ...model } = await make("/models", { model_name: unique("model"), api_base: NOWHERE });
  const own = `/models/${String(id)}`;
  if (collection === "replicas") return named(await make(`${own}/replicas`, { job_id: unique("job") }));
  if (collection !== "models")
    throw new Error(`${path}: say in test/harness/route-targets.ts how to make what it names`);
  if (path.includes("/managed")) {
    const spec = { partition: "gpu", serving_port: 8000, launch_command: "serve" };
    return { path: fillIn(path, { id }), record: await make(`${own}/managed`, spec, "PUT") };
  }
  if (!path.includes("{endpoint_id}")) return named({ id, ...model });
  const endpoint = await make(`${own}/endpoints`, { name: unique("endpoint"), api_base: NOWHERE });
  return { path: fillIn(path, { id, endpoint_id: endpoint["id"] }), record: endpoint };
}
