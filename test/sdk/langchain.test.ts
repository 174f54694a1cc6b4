/**
 * LangChain's OpenAI integration.
 *
 * @module-tag check
 */
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

const fieldsOf = (minted: Minted) => ({
  model: minted.model.model_name,
  apiKey: minted.secret,
  maxRetries: 0,
  configuration: { baseURL: `${fixture.gateway.proxyUrl}/v1` },
});

describe("LangChain", () => {
  it("invokes and streams", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const chat = new ChatOpenAI(fieldsOf(minted));
    const message = await chat.invoke("hi");
    expect({ text: message.text, usage_metadata: message.usage_metadata }).toMatchObject({
      text: "hello world",
      usage_metadata: { input_tokens: 11, output_tokens: 22 },
    });
    const words: string[] = [];
    for await (const chunk of await chat.stream("hi")) words.push(chunk.text);
    expect(words.join("")).toBe("hello world");
  });

  it("binds tools and reads structured output", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const chat = new ChatOpenAI(fieldsOf(minted));
    const weather = tool(async () => "7", { name: "weather", schema: z.object({ city: z.string() }) });
    const message = await chat.bindTools([weather]).invoke("How warm is it in Oslo?");
    expect(message.tool_calls).toMatchObject([{ name: "weather", args: { city: "Oslo" } }]);
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const structured = chat.withStructuredOutput(schema, { method: "jsonSchema" });
    expect(await structured.invoke("How warm is it in Oslo?")).toEqual({ city: "Oslo", degrees: 7 });
  });

  it("uses the responses route, and embeds", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const responses = new ChatOpenAI({ ...fieldsOf(minted), useResponsesApi: true });
    expect((await responses.invoke("hi")).text).toBe("hello world");
    const embeddings = new OpenAIEmbeddings(fieldsOf(minted));
    expect(await embeddings.embedDocuments(["a", "b"])).toHaveLength(2);
    expect(upstream.seen(minted.mark).map((call) => call.path)).toEqual(["/v1/responses", "/v1/embeddings"]);
  });
});
