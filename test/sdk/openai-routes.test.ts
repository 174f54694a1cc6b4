/**
 * The official OpenAI SDK on every route except chat, and its own retries, timeouts and errors.
 *
 * @module-tag check
 */
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { SPOKEN } from "../harness/route-answers.ts";
import { mintAt, sha256, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();
const mint = async (): Promise<Minted> => await mintAt(fixture.gateway, upstream, { cost_per_image: 0.04 });

function clientOf(minted: Minted, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: minted.secret, maxRetries });
}

describe("the OpenAI SDK", () => {
  it("calls tools, and sends their results", async () => {
    const minted = await mint();
    const request = {
      model: minted.model.model_name,
      messages: [{ role: "user" as const, content: "How warm is it in Oslo?" }],
      tools: [
        {
          type: "function" as const,
          function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
        },
      ],
    };
    const client = clientOf(minted);
    const asked = await client.chat.completions.create(request);
    const message = asked.choices[0]?.message;
    expect(message?.tool_calls).toMatchObject([{ function: { name: "weather", arguments: '{"city":"Oslo"}' } }]);
    if (message === undefined) throw new Error("no message came");
    const answered = await client.chat.completions.create({
      ...request,
      messages: [...request.messages, message, { role: "tool", tool_call_id: "call_1", content: "7" }],
    });
    expect(answered.choices[0]?.message.content).toBe("hello world");
    const runner = client.chat.completions.stream(request);
    expect((await runner.finalChatCompletion()).choices[0]?.message.tool_calls).toHaveLength(1);
  });

  it("raises the error of a responses stream that broke", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=5,pace=50,cut");
    const asked = { model: minted.model.model_name, input: minted.mark, stream: true } as const;
    const stream = await clientOf(minted).responses.create(asked);
    const read = async () => {
      for await (const _event of stream);
    };
    await expect(read()).rejects.toMatchObject({ code: "upstream_stream_error" });
  });

  it("completes, embeds and creates responses", async () => {
    const minted = await mint();
    const model = minted.model.model_name;
    const client = clientOf(minted);
    expect((await client.completions.create({ model, prompt: "hi" })).choices[0]?.text).toBe("hello");
    let text = "";
    for await (const chunk of await client.completions.create({ model, prompt: "hi", stream: true }))
      text += chunk.choices[0]?.text;
    expect(text).toBe("hello");
    const { data, usage } = await client.embeddings.create({ model, input: ["a", "b"] });
    expect({ embeddings: data.map((entry) => [...entry.embedding]), prompt_tokens: usage.prompt_tokens }).toEqual({
      embeddings: [
        [0.5, -0.25, 1],
        [0.5, -0.25, 1],
      ],
      prompt_tokens: 11,
    });
    expect((await client.responses.create({ model, input: "hi" })).output_text).toBe("hello world");
    const types: string[] = [];
    for await (const event of await client.responses.create({ model, input: "hi", stream: true }))
      types.push(event.type);
    expect(types).toEqual([
      "response.created",
      ...Array.from({ length: 3 }, () => "response.output_text.delta"),
      "response.completed",
    ]);
    expect((await client.moderations.create({ model, input: "hi" })).results[0]?.flagged).toBe(false);
  });

  it("sends audio and gets audio", async () => {
    const minted = await mint();
    const model = minted.model.model_name;
    const client = clientOf(minted);
    const file = await toFile(SPOKEN, "speech.wav", { type: "audio/wav" });
    expect((await client.audio.transcriptions.create({ file, model })).text).toBe("hello world");
    expect(await client.audio.transcriptions.create({ file, model, response_format: "text" })).toBe("hello world\n");
    expect((await client.audio.translations.create({ model, file })).text).toBe("hello world");
    const spoken = await client.audio.speech.create({ model, input: "hi", voice: "alloy" });
    expect(sha256(new Uint8Array(await spoken.arrayBuffer()))).toBe(sha256(SPOKEN));
    expect(upstream.seen(minted.mark).map((call) => call.files["file"]?.sha256 ?? null)).toEqual([
      ...Array.from({ length: 3 }, () => sha256(SPOKEN)),
      null,
    ]);
  });

  it("makes, edits and varies images", async () => {
    const minted = await mint();
    const model = minted.model.model_name;
    const client = clientOf(minted);
    const image = await toFile(SPOKEN, "image.png", { type: "image/png" });
    const made = await client.images.generate({ model, prompt: "a cat", n: 2 });
    const edited = await client.images.edit({ model, image: [image, image], prompt: "a hat", n: 3 });
    const varied = await client.images.createVariation({ model, image });
    expect([made, edited, varied].map((answer) => answer.data?.length)).toEqual([2, 3, 1]);
    const costs = await Promise.all(
      [made, edited, varied].map(async (answer) => {
        return (await fixture.gateway.row(minted.tenant.id, answer._request_id ?? null)).cost_usd;
      }),
    );
    expect(costs).toEqual([0.08, 0.12, 0.04]);
  });

  it("reads the details of one model", async () => {
    const minted = await mint();
    const model = await clientOf(minted).models.retrieve(minted.model.model_name);
    expect(model).toMatchObject({ id: minted.model.model_name, owned_by: "gateway" });
  });
});

describe("the OpenAI SDK's retries", () => {
  /** A client that retries, with the status and waiting time of every answer that it gets. */
  function watched(minted: Minted) {
    const answers: { readonly status: number; readonly waitMs: number }[] = [];
    const client = new OpenAI({
      baseURL: `${fixture.gateway.proxyUrl}/v1`,
      apiKey: minted.secret,
      maxRetries: 5,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        answers.push({ status: response.status, waitMs: Number(response.headers.get("retry-after-ms")) });
        return response;
      },
    });
    return { client, answers };
  }

  it.each([
    ["", 400],
    ["absent", 404],
  ])("stop at once for the model %j", async (model, status) => {
    const { client, answers } = watched(await mint());
    await expect(client.completions.create({ model, prompt: "hi" })).rejects.toBeInstanceOf(OpenAI.APIError);
    expect(answers.map((answer) => answer.status)).toEqual([status]);
  });

  it("wait for retry-after-ms when the tenant's tokens are used up, and succeed", async () => {
    const minted = await mint();
    // Two requests of 512 tokens at once need a little more than the bucket holds.
    await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 985 });
    const { client, answers } = watched(minted);
    const request = { model: minted.model.model_name, input: "hi" };
    const create = async () => await client.moderations.create(request);
    while (!answers.some((answer) => answer.status === 429)) await Promise.all([create(), create()]);
    expect(answers.at(-1)?.status).toBe(200);
    for (const { status, waitMs } of answers) expect(waitMs > 0).toBe(status === 429);
  });
});
