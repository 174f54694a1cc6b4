/**
 * `response_format` with the official OpenAI SDK's parse helpers, on a model that cannot be held to a schema.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { startChatScript } from "../harness/chat-script.ts";
import { useGateway } from "../harness/fixture.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useStarted(startChatScript);

const Event = z.object({ name: z.string().min(1), day: z.iso.date(), guests: z.array(z.string()) });
const PARTY = { name: "party", day: "2026-11-22", guests: ["Ann", "Bob"] };
const SAID = `Here it is:\n\`\`\`json\n${JSON.stringify(PARTY, null, 2)}\n\`\`\``;

/** A model that answers so, and a client of it. */
async function scene(
  ...said: Parameters<ReturnType<typeof upstream>["say"]> extends [string, ...infer Rest] ? Rest : never
) {
  const name = `lax-${randomUUID()}`;
  upstream().say(name, ...said);
  const minted = await fixture.gateway.mint(upstream().url, name, {
    boons: ["structured_output"],
    supports_response_schema: false,
    supports_function_calling: false,
  });
  const client = new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: minted.secret, maxRetries: 0 });
  const request = {
    model: minted.model.model_name,
    messages: [{ role: "user" as const, content: minted.mark }],
    response_format: zodResponseFormat(Event, "event"),
  };
  return { minted, client, request };
}

describe("the parse helpers of the OpenAI SDK", () => {
  it("get what they asked for", async () => {
    const { minted, client, request } = await scene(SAID);
    const { data, response } = await client.chat.completions.parse(request).withResponse();
    expect(data.choices[0]?.message.parsed).toEqual(PARTY);
    expect(response.headers.get("x-gateway-boons")).toBe("structured_output");
    expect(response.headers.get("x-gateway-boons-warning")).toBeNull();
    const [sent] = upstream().seen(minted.model.upstream_model);
    expect(sent).not.toHaveProperty("response_format");
    expect(sent?.["messages"]).toMatchObject([
      { role: "system", content: expect.stringContaining('"guests"') as string },
      { role: "user" },
    ]);
  });

  it("get it as a stream", async () => {
    const { minted, client, request } = await scene(SAID);
    const options = { stream_options: { include_usage: true } };
    const stream = client.chat.completions.stream({ ...request, ...options });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.parsed).toEqual(PARTY);
    expect(completion.choices[0]?.finish_reason).toBe("stop");
    expect(completion.usage?.total_tokens).toBe(33);
    const [sent] = upstream().seen(minted.model.upstream_model);
    expect(sent).toMatchObject({ stream: false });
    expect(sent).not.toHaveProperty("stream_options");
  });

  it("get a repaired answer, whose repair is a row of its own", async () => {
    const { minted, client, request } = await scene('{"name": "", "day": "soon"}', JSON.stringify(PARTY));
    const completion = await client.chat.completions.parse(request);
    expect(completion.choices[0]?.message.parsed).toEqual(PARTY);
    expect(completion.usage?.total_tokens).toBe(33);
    await fixture.gateway.row(minted.tenant.id, completion._request_id ?? null);
    expect(upstream().seen(minted.model.upstream_model)).toHaveLength(2);
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 2,
    );
    expect(rows.map(({ request_type, admission, total_tokens }) => [request_type, admission, total_tokens])).toEqual(
      expect.arrayContaining([
        ["chat", "fast", 33],
        ["structured_output_boon", "boon", 33],
      ]),
    );
  });

  it("get the model's own text, with a warning, when it cannot be repaired", async () => {
    const { client, request } = await scene("I would rather not.");
    const { data, response } = await client.chat.completions.create(request).withResponse();
    expect(data.choices[0]?.message.content).toBe("I would rather not.");
    expect(response.headers.get("x-gateway-boons-warning")).toBe("structured_output_validation_failed");
  });

  it.each(["whole", "as a stream"])("get calls of the client's tools first, then the answer, %s", async (how) => {
    const { minted, client, request } = await scene({ tool: "guests", args: { party: "party" } }, SAID);
    const asked: unknown[] = [];
    const guests = zodFunction({
      name: "guests",
      parameters: z.object({ party: z.string() }),
      function: (args) => {
        asked.push(args);
        return "Ann, Bob";
      },
    });
    const body = { ...request, tools: [guests] };
    const runner =
      how === "whole"
        ? client.chat.completions.runTools(body)
        : client.chat.completions.runTools({ ...body, stream: true });
    const answer = await runner.finalContent();
    expect({ asked, event: Event.parse(JSON.parse(answer ?? "")) }).toEqual({
      asked: [{ party: "party" }],
      event: PARTY,
    });
    const sent = upstream().seen(minted.model.upstream_model);
    expect(sent).toHaveLength(2);
    for (const one of sent) {
      expect(one).not.toHaveProperty("response_format");
      expect(one).toMatchObject({ tools: [{ function: { name: "guests", strict: true } }] });
    }
    expect(sent[1]?.["messages"]).toMatchObject([
      { role: "system" },
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "call-1", function: { name: "guests" } }] },
      { role: "tool", tool_call_id: "call-1", content: "Ann, Bob" },
    ]);
  });

  it("get any JSON", async () => {
    const { client, request } = await scene('```\n[1, {"a": 2}]\n```');
    const completion = await client.chat.completions.create({ ...request, response_format: { type: "json_object" } });
    expect(completion.choices[0]?.message.content).toBe('[1,{"a":2}]');
  });
});
