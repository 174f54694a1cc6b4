/**
 * The Management API as the console's browser reaches it (docs/rules/console.md#live): the routes that it has for browsers, as
 * the signed-in user, whose role and tenant are checked with every request. It narrows what it answers a `user` itself. The admin
 * token is added here and never leaves the server.
 */
import { Buffer } from "node:buffer";
import { GatewayError } from "../../../shared/errors.ts";
import { isReadOnly, isWide } from "../../../shared/fields/roles.ts";
import type { LiveRoute } from "../../api/access.ts";
import { userCredential } from "../../api/guard.ts";
import { SharedReads } from "../../kernel/shared-reads.ts";
import type { ConsolePerson } from "../../users/person.ts";
import { DashboardError } from "../dashboard-error.ts";
import { LiveCalls } from "./live-calls.ts";
import { type MatchedRoute, managementPath, type RouteFinder, routeFinder } from "./live-path.ts";
import { wholeBody } from "./whole-body.ts";

/** What is passed on of a request, and of an answer. */
const REQUEST_HEADERS = ["accept", "content-type", "idempotency-key", "if-match", "if-none-match"];
const ANSWER_HEADERS = [
  "allow",
  "content-disposition",
  "content-type",
  "etag",
  "idempotency-replayed",
  "retry-after",
  "x-gateway-sync",
];

export interface LiveOptions {
  readonly adminToken: string;
  /** The Management API; the address has its path and query, its host means nothing. */
  readonly management: (request: Request) => Promise<Response>;
  /** What browsers may call of it. */
  readonly routes: readonly LiveRoute[];
  readonly nowMs: () => number;
  /** How long the body of a request may take to come. */
  readonly bodyMs?: number;
}

const BODY_MS = 15_000;

/** A person, with what counts in the session. */
type LivePerson = Pick<ConsolePerson, "id" | "email" | "role" | "tenant_id">;

/** Who sends a request, and from where; a null address is not known. */
interface Caller {
  readonly user: LivePerson;
  readonly address: string | null;
}

/** An answer that can be given several times. */
interface WholeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

export class Live {
  readonly #options: LiveOptions;
  readonly #calls = new LiveCalls();
  readonly #shared = new SharedReads<WholeAnswer>(({ status }) => status === 200);
  readonly find: RouteFinder;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.find = routeFinder(options.routes);
  }

  /**
   * The answer to a request of an active user; `path` is that below /api/live, as it stands in the address. Throws
   * DashboardError 403, 429, GatewayError 404.
   */
  async answer(request: Request, path: string, caller: Caller): Promise<Response> {
    const matched = this.find(request.method, path);
    if (matched === null) throw new GatewayError("not_found");
    const credential = this.#credentialOf(caller.user, matched);
    const query = new URL(request.url).searchParams;
    const address = `${managementPath(matched)}${query.size === 0 ? "" : `?${query.toString()}`}`;
    return await this.#calls.answer(caller.user, request.signal, {
      received: async () => await this.#whole(request, caller.user),
      call: async (whole) =>
        shown(
          matched.route.shared === true
            ? await this.#sharedAnswer(request.url, address, credential, caller)
            : await this.#send(whole, address, credential, caller),
        ),
    });
  }

  /**
   * The request of somebody who takes turns, with all of its body: who sends it slowly keeps no turn from others. Throws
   * GatewayError 408, 413.
   */
  async #whole(request: Request, { role }: LivePerson): Promise<Request> {
    const { body, url, method, headers, signal } = request;
    if (role === "admin" || body === null || method === "GET") return request;
    const bytes = await wholeBody(body, { withinMs: this.#options.bodyMs ?? BODY_MS });
    return new Request(url, { method, headers, signal, body: bytes });
  }

  /** The credential with which the Management API answers what the user may see. Throws DashboardError 403. */
  #credentialOf({ id, role, tenant_id }: LivePerson, { route, values: [first = ""] }: MatchedRoute): string {
    const { adminToken } = this.#options;
    const { method, user, isOwn = false, hasSecrets = false } = route;
    if (role === "admin" || (isOwn && first.toLowerCase() === id)) return `Bearer ${adminToken}`;
    if (isReadOnly(role) && method !== "GET") throw new DashboardError("read_only");
    if (isWide(role) && !hasSecrets) return `Bearer ${adminToken}`;
    if (user === undefined || isWide(role)) throw new DashboardError("forbidden");
    if (tenant_id === null) throw new DashboardError("no_tenant");
    return userCredential(tenant_id, adminToken);
  }

  /** The answer to a read, from a call that others may have begun within the last second. */
  async #sharedAnswer(url: string, address: string, credential: string, caller: Caller): Promise<Response> {
    const name = `${credential} ${address}`;
    const { status, headers, body } = await this.#shared.get(name, this.#options.nowMs(), async () => {
      // The call serves others too: it does not end with the one who made it, who does not choose its form either.
      const anybody = new Request(url, { headers: { accept: "application/json" } });
      const answer = await this.#send(anybody, address, credential, caller);
      return {
        status: answer.status,
        headers: answer.headers,
        body: new Uint8Array(await answer.arrayBuffer()),
      };
    });
    return new Response(body, { status, headers });
  }

  async #send(request: Request, address: string, authorization: string, caller: Caller): Promise<Response> {
    const headers = new Headers({ authorization, ...personHeaders(caller.user, caller.address) });
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

/** Who writes, and from where, for the audit log and for what only this person may get again. */
export function personHeaders(
  { id, email }: Pick<ConsolePerson, "id" | "email">,
  address: string | null,
): Readonly<Record<string, string>> {
  const actor = { "x-gateway-audit-actor": headerText(email), "x-gateway-audit-person": id };
  return address === null ? actor : { ...actor, "x-gateway-audit-address": address };
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

/** A header is bytes: the text in UTF-8, as the Management API reads it. */
function headerText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
