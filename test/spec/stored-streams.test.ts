/**
 * The stream of an answer that its upstream keeps, read from one of its events on (docs/rules/routes.md#streams-of-stored-answers), by
 * OpenAI's SDK.
 */
import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useBackgroundAnswers } from "../harness/background-answers.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const upstream = useBackgroundAnswers();

const FIRST_EVENTS = 6;
const ALL_EVENTS = 11;
const OUTPUT_TOKENS = 50;

const clientOf = ({ secret }: Pick<Minted, "secret">): OpenAI =>
  new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: secret, maxRetries: 0 });

/** An answer that is being made, charged its estimate of one token. */
async function begun(): Promise<{ readonly minted: Minted; readonly id: string }> {
  const minted = await fixture.gateway.mint(upstream.base());
  const body = { model: minted.model.model_name, input: "hello", background: true, max_output_tokens: 1 };
  return { minted, id: (await clientOf(minted).responses.create(body)).id };
}

const read = async ({ secret }: Pick<Minted, "secret">, id: string, query: string): Promise<Response> =>
  await fetch(`${fixture.gateway.proxyUrl}/v1/responses/${id}${query}`, {
    headers: { authorization: `Bearer ${secret}` },
  });

interface StreamEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly code?: string;
  readonly delta?: string;
}

const eventsOf = (text: string) => dataOf(text).map((data) => JSON.parse(data) as StreamEvent);

const rowOf = async ({ tenant }: Minted, { headers }: Response) =>
  await fixture.gateway.row(tenant.id, headers.get("x-gateway-request-id"));

const from = (first: number, end = ALL_EVENTS): readonly number[] =>
  Array.from({ length: end - first }, (_, at) => first + at);

const guard = async ({ tenant }: Minted, policy: object): Promise<unknown> =>
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/guardrails`, { policy });

describe("the stream of a stored answer", () => {
  it("is followed while the answer is made, and taken up where a reader left it", async () => {
    const { minted, id } = await begun();
    const client = clientOf(minted);
    const first: number[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true })) {
      first.push(event.sequence_number);
      if (first.length === FIRST_EVENTS) break;
    }
    const rest: number[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: FIRST_EVENTS - 2 })) {
      rest.push(event.sequence_number);
      if (rest.length === 1) upstream.make(id);
    }
    expect({ first, rest }).toEqual({ first: from(0, FIRST_EVENTS), rest: from(FIRST_EVENTS - 1) });
    // all that a read shows is counted, so it begins at the beginning
    const whole = `GET /v1/responses/${id}?stream=true`;
    expect(upstream.seen(id)).toEqual([whole, whole]);
  });

  it("charges what the answer used beyond its estimate once, by whichever read shows it", async () => {
    const { minted, id } = await begun();
    upstream.make(id);
    const tokens: number[] = [];
    for (const query of ["?stream=true&starting_after=8", "?stream=true", "?stream=true&starting_after=3", ""]) {
      const response = await read(minted, id, query);
      await response.text();
      const row = await rowOf(minted, response);
      tokens.push(row.output_tokens);
      expect({ type: row.request_type, status: row.status_code }).toEqual({ type: "other", status: 200 });
    }
    expect(tokens).toEqual([OUTPUT_TOKENS - 1, 0, 0, 0]);
  });

  it("belongs to its tenant, and needs a place that is a number", { tags: ["check"] }, async () => {
    const { minted, id } = await begun();
    const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `other-${randomUUID()}` });
    const other = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {});
    const outcome = async (secret: string, query: string) => {
      const response = await read({ secret }, id, query);
      const { error } = (await response.json()) as { error: { code: string; param: string | null } };
      return { status: response.status, code: error.code, param: error.param };
    };
    expect(await outcome(other.secret, "?stream=true&starting_after=1")).toEqual({
      status: 404,
      code: "object_not_found",
      param: null,
    });
    for (const place of ["x", "-1", "1.5", "1&starting_after=2"])
      expect(await outcome(minted.secret, `?stream=true&starting_after=${place}`)).toEqual({
        status: 400,
        code: "validation_failed",
        param: "starting_after",
      });
    expect(upstream.seen(id)).toEqual([]);
  });

  it("ends with an error of its API when its key is disabled, or its connection breaks", {
    tags: ["check"],
  }, async () => {
    const endOf = async (end: (minted: Minted, id: string) => unknown) => {
      const { minted, id } = await begun();
      const response = await read(minted, id, "?stream=true");
      const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
      let text = (await reader.read()).value ?? "";
      await end(minted, id);
      for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
      const { type, code } = eventsOf(text).at(-1) ?? {};
      return { type, code };
    };
    const disabled = await endOf(
      async ({ key }) => await fixture.gateway.must("PUT", `/keys/${key.id}/disabled`, { disabled: true }),
    );
    const broken = await endOf((_, id) => upstream.breakOff(id));
    expect({ disabled, broken }).toEqual({
      disabled: { type: "error", code: "api_key_disabled" },
      broken: { type: "error", code: "upstream_stream_error" },
    });
  });
});

describe("a policy for answers", () => {
  const SPLIT = "blue falcon";
  it("redacts a text that began before the event that its reader starts after", { tags: ["check"] }, async () => {
    const { minted, id } = await begun();
    upstream.make(id);
    await guard(minted, { action: "redact", output_scanners: ["ban_keywords"], ban_keywords: [SPLIT] });
    const response = await read(minted, id, "?stream=true&starting_after=5");
    const text = await response.text();
    const [first] = eventsOf(text);
    // a policy may cut a text into pieces of its own
    const deltas = eventsOf(text).map(({ delta = "" }) => delta);
    expect({ first: first?.sequence_number, told: deltas.join("").includes("falcon") }).toEqual({
      first: 6,
      told: false,
    });
    expect(eventsOf(text).at(-1)?.type).toBe("response.completed");
    expect(await rowOf(minted, response)).toMatchObject({ output_tokens: OUTPUT_TOKENS - 1 });
  });

  it("blocks it, and passes on what it lets pass from the event on", { tags: ["check"] }, async () => {
    const { minted, id } = await begun();
    upstream.make(id);
    await guard(minted, { output_scanners: ["ban_keywords"], ban_keywords: [SPLIT] });
    const blocked = await read(minted, id, "?stream=true&starting_after=6");
    expect(((await blocked.json()) as { error: { code: string } }).error.code).toBe("response_blocked");
    await guard(minted, { output_scanners: ["ban_keywords"], ban_keywords: ["elsewhere"] });
    const passed = eventsOf(await (await read(minted, id, "?stream=true&starting_after=6")).text());
    expect(passed.map(({ sequence_number: at }) => at)).toEqual(from(7));
  });
});
