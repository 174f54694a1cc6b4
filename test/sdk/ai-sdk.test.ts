/**
 * The AI SDK with its OpenAI-compatible provider.
 *
 * @module-tag check
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateObject, generateText, isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();
const mint = async (): Promise<Minted> => await mintAt(fixture.gateway, upstream);

function providerOf(minted: Minted) {
  return createOpenAICompatible({
    name: "gateway",
    baseURL: `${fixture.gateway.proxyUrl}/v1`,
    apiKey: minted.secret,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
}

describe("the AI SDK", () => {
  it("streams text, with the usage that it requests", async () => {
    const minted = await mint();
    const result = streamText({ model: providerOf(minted)(minted.model.model_name), prompt: "hi" });
    const words: string[] = [];
    for await (const word of result.textStream) words.push(word);
    expect(words).toEqual(["hello", " ", "world"]);
    expect(await result.usage).toMatchObject({ inputTokens: 11, outputTokens: 22 });
  });

  it("generates an object of a schema", async () => {
    const minted = await mint();
    const { object } = await generateObject({
      model: providerOf(minted)(minted.model.model_name),
      schema: z.object({ city: z.string(), degrees: z.number() }),
      prompt: "How warm is it in Oslo?",
    });
    expect(object).toEqual({ city: "Oslo", degrees: 7 });
  });

  it.each(["generated", "streamed"])("calls a tool and continues with its result, %s", async (how) => {
    const minted = await mint();
    const asked: string[] = [];
    const request = {
      model: providerOf(minted)(minted.model.model_name),
      prompt: "How warm is it in Oslo?",
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => {
            asked.push(city);
            return { degrees: 7 };
          },
        }),
      },
      stopWhen: isStepCount(2),
    };
    const text = how === "generated" ? (await generateText(request)).text : await streamText(request).text;
    expect({ asked, text, seenCount: upstream.seen(minted.mark).length }).toEqual({
      asked: ["Oslo"],
      text: "hello world",
      seenCount: 2,
    });
  });

  it("embeds", async () => {
    const minted = await mint();
    const model = providerOf(minted).embeddingModel(minted.model.model_name);
    const { embeddings, usage } = await embedMany({ model, values: ["a", "b"] });
    expect({ embeddingCount: embeddings.length, tokens: usage.tokens }).toEqual({ embeddingCount: 2, tokens: 11 });
  });

  it("aborts, and the upstream call ends", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=1000,pace=10");
    const client = new AbortController();
    const result = streamText({
      model: providerOf(minted)(minted.model.model_name),
      prompt: minted.mark,
      abortSignal: client.signal,
    });
    for await (const _ of result.textStream) client.abort();
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cut) => cut === true,
    );
  });

  it("reports to its caller what the gateway refused", async () => {
    const minted = await mint();
    const refused = generateText({ model: providerOf(minted)("absent"), prompt: "hi" });
    await expect(refused).rejects.toBeInstanceOf(APICallError);
    await expect(refused).rejects.toMatchObject({
      statusCode: 404,
      isRetryable: false,
      message: "model 'absent' is not registered",
    });
  });
});
