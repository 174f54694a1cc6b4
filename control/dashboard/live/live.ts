/**
 * The Management API as the console's browser reaches it (docs/rules/console.md#live): by the closed list of
 * {@link LIVE_RULES}, as the signed-in user, whose role and tenant are judged with every request. The admin token is added
 * here and never leaves the server.
 */
import { Buffer } from "node:buffer";
import { eq } from "drizzle-orm";
import { isModelPermitted } from "../../../shared/access/access-window.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { csvLine } from "../../../shared/text/csv.ts";
import { BODY_MAX_BYTES } from "../../api/guard.ts";
import type { Database } from "../../db/connect.ts";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import type { UserRow } from "../../db/schema/users.ts";
import { csvHeaders, csvLines, isCsvFormat } from "../../kernel/csv.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { refuseRepeated, UUID } from "../../kernel/parse.ts";
import { tenantRecord } from "../../tenants/tenant-record.ts";
import { DashboardError } from "../dashboard-error.ts";
import { csvColumns } from "./csv-columns.ts";
import { type MatchedRule, managementPath, ruleFor } from "./live-path.ts";
import type { LiveRule } from "./live-rules.ts";
import { SharedReads, type WholeAnswer } from "./shared-reads.ts";

/** What is passed on of a request, and of an answer. */
const REQUEST_HEADERS = ["accept", "content-type", "idempotency-key", "if-match"];
const ANSWER_HEADERS = [
  "allow",
  "content-disposition",
  "content-type",
  "etag",
  "idempotency-replayed",
  "retry-after",
  "x-gateway-sync",
];

/** Filters by what a `user` does not see of a record: with them one could guess at it. */
const HIDDEN_FILTERS = ["cell"];
/** The most that the Management API has. */
const MODELS_A_PAGE = "1000";

export interface LiveOptions {
  readonly db: Database;
  readonly adminToken: string;
  /** The Management API; the address has its path and query, its host means nothing. */
  readonly management: (request: Request) => Promise<Response>;
  readonly nowMs: () => number;
}

/** Who sends a request, and from where; a null address is not known. */
interface Caller {
  readonly user: UserRow;
  readonly address: string | null;
}

export class Live {
  readonly #options: LiveOptions;
  readonly #shared: SharedReads;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#shared = new SharedReads(options.nowMs);
  }

  /**
   * The answer to a request of an active user; `path` is that below /api/live, as it stands in the address. Throws
   * DashboardError 403, GatewayError 404.
   */
  async answer(request: Request, path: string, caller: Caller): Promise<Response> {
    const { user } = caller;
    const matched = ruleFor(request.method, path);
    if (matched === null) throw new GatewayError("not_found");
    if (user.role === "admin") return await this.#call(request, matched, new URL(request.url).searchParams, caller);
    const { rule } = matched;
    if (rule.user === undefined) throw new DashboardError("forbidden");
    if (user.tenant_id === null) throw new DashboardError("no_tenant");
    const query = new URL(request.url).searchParams;
    if (rule.user === "allowed models") return await this.#allowedModels(request, matched, caller, user.tenant_id);
    await this.#bind(matched, query, user.tenant_id);
    const allowed = rule.refused === undefined ? request : await withoutRefused(request, rule.refused);
    const answer = await this.#call(allowed, matched, query, caller);
    return answer.ok ? await this.#narrowed(answer, rule, user.tenant_id) : answer;
  }

  /** Binds a request to a tenant. Throws 404 for what is another's, as if it did not exist. */
  async #bind({ rule, values }: MatchedRule, query: URLSearchParams, tenantId: string): Promise<void> {
    const id = (values[0] ?? "").toLowerCase();
    for (const name of HIDDEN_FILTERS) query.delete(name);
    if (rule.user === "tenant in query") query.set("tenant_id", tenantId);
    else if (rule.user === "tenant in path" && id !== tenantId) throw new GatewayError("not_found");
    else if (rule.user === "key in path" && (await this.#tenantOfKey(id)) !== tenantId)
      throw new GatewayError("not_found");
  }

  async #tenantOfKey(id: string): Promise<string | null> {
    if (!UUID.test(id)) return null;
    const { db } = this.#options;
    const [key] = await withDatabaseErrors(async () =>
      db.select({ tenant_id: apiKeys.tenant_id }).from(apiKeys).where(eq(apiKeys.id, id)),
    );
    return key?.tenant_id ?? null;
  }

  /** What a `user` may see of an answer. */
  async #narrowed(answer: Response, rule: LiveRule, tenantId: string): Promise<Response> {
    const isWhole = rule.fields === undefined && rule.hidden === undefined;
    if ((rule.user !== "tenant in answer" && isWhole) || answer.status === 204) return answer;
    const type = answer.headers.get("content-type") ?? "";
    // Rows of the query's tenant alone: only their columns are left to narrow, as they come.
    if (rule.user === "tenant in query" && /^text\/csv\b/.test(type)) {
      const { status, headers } = answer;
      const shownColumns = csvColumns((name) => isShown(rule, name));
      return new Response(answer.body?.pipeThrough(shownColumns) ?? null, { status, headers });
    }
    const value = await jsonOf(answer);
    if (rule.user === "tenant in answer" && recordOf(value)["tenant_id"] !== tenantId)
      throw new GatewayError("not_found");
    const narrowed: unknown = Array.isArray(value)
      ? value.map((record) => narrowedTo(rule, record))
      : narrowedTo(rule, value);
    return new Response(JSON.stringify(narrowed), { status: answer.status, headers: answer.headers });
  }

  /**
   * The models that a tenant may use, all in one answer, by `q` (a part of the name) and `limit`, as CSV with `format=csv`.
   * The Management API's own pages, cursors and search would tell of models that the tenant may not know, and of what the
   * upstream calls them. Its pages are the same for every tenant, so that readers of one second share them.
   */
  async #allowedModels(request: Request, matched: MatchedRule, caller: Caller, tenantId: string): Promise<Response> {
    const asked = new URL(request.url).searchParams;
    refuseRepeated(asked, ["q", "limit", "format"]);
    const isCsv = isCsvFormat(asked.get("format")) === true;
    const part = (asked.get("q") ?? "").toLowerCase();
    const isAllowed = await this.#permission(tenantId);
    const shownModels: object[] = [];
    const query = new URLSearchParams({ limit: MODELS_A_PAGE });
    for (;;) {
      const answer = shown(await this.#sharedAnswer(request, addressOf(matched, query), caller));
      if (!answer.ok) return answer;
      const page = await jsonOf(answer);
      if (!Array.isArray(page)) throw new GatewayError("not_found");
      for (const model of page) {
        const name = String(recordOf(model)["model_name"]);
        if (isAllowed(name) && name.toLowerCase().includes(part)) shownModels.push(narrowedTo(matched.rule, model));
      }
      const cursor = cursorOf(answer.headers.get("link"));
      if (cursor === null) {
        const models = shownModels.slice(0, limitOf(asked.get("limit")));
        return isCsv ? csvFile("models", matched.rule.fields ?? [], models) : Response.json(models);
      }
      query.set("cursor", cursor);
    }
  }

  async #permission(tenantId: string): Promise<(modelName: string) => boolean> {
    const { db } = this.#options;
    const [row] = await withDatabaseErrors(async () => db.select().from(tenants).where(eq(tenants.id, tenantId)));
    if (row === undefined) return () => false;
    const tenant = tenantRecord(row);
    return (name) => isModelPermitted(tenant, name);
  }

  async #call(request: Request, matched: MatchedRule, query: URLSearchParams, caller: Caller): Promise<Response> {
    const address = addressOf(matched, query);
    return shown(
      matched.rule.shared === true
        ? await this.#sharedAnswer(request, address, caller)
        : await this.#send(request, address, caller),
    );
  }

  /** The answer to a read, from a call that others may have begun within the last second. */
  async #sharedAnswer(request: Request, address: string, caller: Caller): Promise<Response> {
    const { status, headers, body } = await this.#shared.get(address, async () => {
      // The call serves others too: it does not end with the one who made it, who does not choose its form either.
      const anybody = new Request(request.url, { headers: { accept: "application/json" } });
      const answer = await this.#send(anybody, address, caller);
      return {
        status: answer.status,
        headers: answer.headers,
        body: new Uint8Array(await answer.arrayBuffer()),
      } satisfies WholeAnswer;
    });
    return new Response(body, { status, headers });
  }

  async #send(request: Request, address: string, caller: Caller): Promise<Response> {
    const headers = new Headers({
      authorization: `Bearer ${this.#options.adminToken}`,
      "x-gateway-audit-actor": headerText(caller.user.email),
    });
    if (caller.address !== null) headers.set("x-gateway-audit-address", caller.address);
    for (const name of REQUEST_HEADERS) {
      const value = request.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    const hasBody = request.method !== "GET" && request.body !== null;
    return await this.#options.management(
      new Request(new URL(address, "http://management.invalid"), {
        method: request.method,
        headers,
        body: hasBody ? request.body : null,
        signal: request.signal,
        duplex: "half",
      } as RequestInit),
    );
  }
}

/** The same request, its body read. Throws DashboardError 403 if the body sets one of the fields, GatewayError 413. */
async function withoutRefused(request: Request, refused: readonly string[]): Promise<Request> {
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  for await (const chunk of request.body ?? []) {
    byteLength += chunk.byteLength;
    if (byteLength > BODY_MAX_BYTES.management) throw new GatewayError("request_too_large");
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  let fields: Readonly<Record<string, unknown>> = {};
  try {
    fields = recordOf(JSON.parse(new TextDecoder().decode(body)));
  } catch {
    // The Management API says what is wrong with it.
  }
  // What a form sends of a switch that is off changes nothing.
  if (refused.some((name) => (fields[name] ?? false) !== false)) throw new DashboardError("forbidden");
  const { method, headers, signal } = request;
  return new Request(request.url, { method, headers, signal, body: body.byteLength === 0 ? null : body });
}

/** Of the Management API, with the query. */
function addressOf(matched: MatchedRule, query: URLSearchParams): string {
  const search = query.size === 0 ? "" : `?${query.toString()}`;
  return `${managementPath(matched)}${search}`;
}

/** The answer without what belongs to the Management API's own callers. */
function shown(answer: Response): Response {
  const headers = new Headers();
  for (const name of ANSWER_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  const link = answer.headers.get("link");
  if (link !== null) headers.set("link", link.replace("</api/v1/", "</api/live/"));
  return new Response(answer.body, { status: answer.status, headers });
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

/** A header is bytes: the text in UTF-8, as the Management API reads it. */
function headerText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** The value of a JSON answer. Throws 404 for anything else: what cannot be narrowed is not shown. */
async function jsonOf(answer: Response): Promise<unknown> {
  if (!/^application\/json\b/.test(answer.headers.get("content-type") ?? "")) throw new GatewayError("not_found");
  return await answer.json();
}

/** Whether a `user` sees a field of a rule's records. */
function isShown({ fields, hidden = [] }: LiveRule, name: string): boolean {
  return (fields === undefined || fields.includes(name)) && !hidden.includes(name);
}

/** A record with what a `user` sees of it. */
function narrowedTo(rule: LiveRule, record: unknown): object {
  return Object.fromEntries(
    Object.entries(recordOf(record)).flatMap(([name, value]) => {
      if (!isShown(rule, name)) return [];
      const within = (rule.hidden ?? []).filter((one) => one.startsWith(`${name}.`));
      return [[name, within.length === 0 ? value : withoutFields(value, within)]];
    }),
  );
}

/** An object without the fields that these paths, such as `a.b`, name in it; anything else as it is. */
function withoutFields(value: unknown, paths: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const names = paths.map((path) => path.slice(path.indexOf(".") + 1));
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

function csvFile(filename: string, columns: readonly string[], rows: readonly object[]): Response {
  return new Response(csvLine(columns) + csvLines(columns, rows), { headers: csvHeaders(filename) });
}

/** Of the next page of a list; null: this is the last one. */
function cursorOf(link: string | null): string | null {
  return /[?&]cursor=([\w%-]+)/.exec(link ?? "")?.[1] ?? null;
}

/** How many are asked for; undefined: all. */
function limitOf(limit: string | null): number | undefined {
  return limit !== null && /^[1-9]\d{0,5}$/.test(limit) ? Number(limit) : undefined;
}
