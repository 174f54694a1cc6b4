/** What works on which route: the table of docs/api.md#what-works-on-which-route, cell by cell. */
import { describe, expect } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { speaking } from "../harness/speaking.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

/** The fields of a JSON body, or those of a form with a file. */
type Body = Readonly<Record<string, unknown>>;

async function send({ secret, model }: Minted, path: string, isForm: boolean, body: Body) {
  const fields = { model: model.model_name, ...body };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  form.append(path.includes("audio") ? "file" : "image", new Blob([new Uint8Array(64)]), "file.bin");
  const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, ...(isForm ? {} : { "content-type": "application/json" }) },
    body: isForm ? form : JSON.stringify(fields),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** The code of a refusal that came after a change of the tenant; "": it was no refusal. */
async function codeAfter(route: Route, part: "budget" | "guardrails", change: object): Promise<string> {
  const minted = await mintAt(fixture.gateway, upstream, modelOf(route));
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/${part}`, change);
  const { status, text } = await send(minted, route.path, route.isForm === true, route.body);
  return status < 400 ? "" : (JSON.parse(text) as { readonly error: { readonly code: string } }).error.code;
}

async function hasFallback(route: Route): Promise<boolean> {
  const { path, isForm = false, body } = route;
  const minted = await fixture.gateway.mint("http://127.0.0.1:9");
  const second = await mintAt(fixture.gateway, upstream, modelOf(route));
  await fixture.gateway.must<Model>("PATCH", `/models/${minted.model.id}`, {
    fallback_models: [second.model.model_name],
  });
  const { status, headers } = await send(minted, path, isForm, body);
  return status === 200 && headers.get("x-gateway-model") === second.model.model_name;
}

interface Route {
  readonly path: string;
  /** Fields of its model. */
  readonly model?: object;
  readonly isForm?: boolean;
  readonly body: Body;
  /** What works, in the order of the columns. */
  readonly works: string;
}

const modelOf = ({ path, model = {} }: Route): object => ({ ...speaking(path), ...model });

const messages = [{ role: "user", content: "falcon" }];
const MADE_OF_TEXT = "stream budget input output cache fallback";
const ROUTES: readonly Route[] = [
  { path: "/v1/messages", body: { messages, max_tokens: 9 }, works: MADE_OF_TEXT },
  { path: "/v1/chat/completions", body: { messages }, works: MADE_OF_TEXT },
  { path: "/v1/messages/count_tokens", body: { messages }, works: "" },
  { path: "/v1/completions", body: { prompt: "falcon" }, works: MADE_OF_TEXT },
  { path: "/v1/responses", body: { input: "falcon" }, works: MADE_OF_TEXT },
  {
    path: "/v1/responses",
    model: { responses_api: "translated" },
    body: { input: "falcon" },
    works: MADE_OF_TEXT,
  },
  { path: "/v1/embeddings", body: { input: "falcon" }, works: "budget input cache fallback" },
  { path: "/v1/audio/transcriptions", isForm: true, body: { prompt: "falcon" }, works: "budget input output" },
  { path: "/v1/audio/translations", isForm: true, body: { prompt: "falcon" }, works: "budget input output" },
  { path: "/v1/audio/speech", body: { input: "falcon", voice: "a" }, works: "budget input cache fallback" },
  { path: "/v1/images/generations", body: { prompt: "falcon" }, works: "budget input cache fallback" },
  { path: "/v1/images/edits", isForm: true, body: { prompt: "falcon", n: 1 }, works: "budget input" },
  { path: "/v1/images/variations", isForm: true, body: { prompt: "falcon", n: 1 }, works: "budget input" },
  { path: "/v1/rerank", body: { query: "falcon", documents: ["a"] }, works: "budget input cache fallback" },
  { path: "/v1/moderations", body: { input: "falcon" }, works: "budget input cache fallback" },
];

describe("a route", () => {
  mainRows(2)(ROUTES.map((route) => [[route.path, ...Object.values(route.model ?? {})].join(", "), route] as const))(
    "%s has what the table says",
    async (_, route) => {
      const { path, isForm = false, body, works } = route;
      const plain = await mintAt(fixture.gateway, upstream, { cache_enabled: true, ...modelOf(route) });
      const { headers } = await send(plain, path, isForm, body);
      const streamed = isForm ? null : await send(plain, path, false, { ...body, stream: true });
      const banned = (side: "input" | "output", word: string) => ({
        policy: { [`${side}_scanners`]: ["ban_keywords"], ban_keywords: [word] },
      });
      const spent = { budget_tokens: 0, budget_cost_usd: null, budget_period: "monthly" };
      const seen = {
        stream: streamed?.headers.get("content-type")?.startsWith("text/event-stream") === true,
        budget: (await codeAfter(route, "budget", spent)) === "tenant_budget_exhausted",
        input: (await codeAfter(route, "guardrails", banned("input", "falcon"))) === "request_blocked",
        output: (await codeAfter(route, "guardrails", banned("output", "hello"))) === "response_blocked",
        cache: headers.get("x-gateway-cache") === "miss",
        fallback: await hasFallback(route),
      };
      const held = Object.entries(seen).flatMap(([name, isHeld]) => (isHeld ? [name] : []));
      expect(held.join(" ")).toBe(works);
    },
  );
});
