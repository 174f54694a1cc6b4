/** Tools of real MCP servers, run by the gateway for a model (docs/rules/tool-loop.md#turns). */
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { type ReferenceServer, startReferenceServer } from "../harness/mcp-reference/server.ts";
import { startToolModel } from "../harness/tool-model.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
let reference: ReferenceServer;
let model: Awaited<ReturnType<typeof startToolModel>>;

beforeAll(async () => {
  [reference, model] = await Promise.all([startReferenceServer(), startToolModel()]);
});
afterAll(async () => {
  await Promise.all([reference.close(), model.close()]);
});

/** A tenant whose model has the reference server's tools. */
async function mint(behaviour: string): Promise<Minted> {
  const { gateway } = fixture;
  const { id } = await gateway.must<{ id: string }>("POST", "/mcp-servers", {
    name: `tools-${crypto.randomUUID()}`,
    upstream_url: reference.url,
  });
  const servers = await gateway.must<readonly { id: string; name: string }[]>("GET", "/mcp-servers");
  const name = servers.find((server) => server.id === id)?.name;
  return await gateway.mint(model.url, behaviour, { supports_function_calling: true, tool_servers: [name] });
}

const clientOf = (minted: Minted) =>
  new OpenAI({ apiKey: minted.secret, baseURL: `${fixture.gateway.proxyUrl}/v1`, maxRetries: 0 });
const question = (minted: Minted) => ({
  model: minted.model.model_name,
  messages: [{ role: "user" as const, content: `hello ${minted.mark}` }],
});

/** The tenant's rows, once there are so many. */
const rowsOf = async (minted: Minted, count: number) =>
  await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (rows) => rows.length >= count,
  );

describe("a model with tool servers", () => {
  it("answers with what its tools have said", async () => {
    const minted = await mint("turns=2");
    const answer = await clientOf(minted).chat.completions.create(question(minted));
    expect(answer.choices[0]?.message.content).toContain("This is a simple text response for testing.");
    expect([answer.id, answer.usage?.total_tokens]).toEqual(["chatcmpl-0", 45]);
    const rows = await rowsOf(minted, 3);
    expect(rows.map(({ request_type: type, admission }) => `${type} ${admission}`).sort()).toEqual([
      "chat fast",
      "tool_loop boon",
      "tool_loop boon",
    ]);
    await waitFor(
      () => reference.sessions.size,
      (open) => open === 0,
    );
  });

  it("streams", async () => {
    const minted = await mint("turns=1");
    const stream = clientOf(minted).chat.completions.stream({
      ...question(minted),
      stream_options: { include_usage: true },
    });
    const answer = await stream.finalChatCompletion();
    expect(answer.choices[0]?.message.content).toContain("simple text response");
    expect([answer.id, answer.usage?.total_tokens, answer.choices[0]?.finish_reason]).toEqual([
      "chatcmpl-0",
      30,
      "stop",
    ]);
    await rowsOf(minted, 2);
  });

  it("gives the client its own calls", async () => {
    const minted = await mint("turns=1");
    const tools = [{ type: "function" as const, function: { name: "mine", parameters: { type: "object" } } }];
    const answer = await clientOf(minted).chat.completions.create({ ...question(minted), tools });
    expect(answer.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: "mine" } }]);
    expect(model.seen(minted.mark)[0]?.tools?.length).toBeGreaterThan(5);
  });

  it("passes requests on untouched with the header off", async () => {
    const minted = await mint("turns=1");
    const response = await fixture.gateway.chat(minted, { headers: { "x-gateway-boons": "off" } });
    expect([response.status, response.headers.get("x-gateway-boons")]).toEqual([200, null]);
    expect(model.seen(minted.mark)[0]?.tools).toBeUndefined();
  });

  it("loses no row and holds nothing over thirty turns of an agent that leaves in the middle", async () => {
    const minted = await mint("turns=3");
    const requests = 8;
    for (let nth = 1; nth <= requests; nth += 1) {
      const leaving = new AbortController();
      const response = await fixture.gateway.chat(minted, { stream: true, signal: leaving.signal });
      if (nth === requests / 2) {
        await (response.body as ReadableStream<Uint8Array>).getReader().read();
        leaving.abort();
      } else expect(await response.text()).toContain("[DONE]");
    }
    const turns = () => model.seen(minted.mark).length;
    expect(turns()).toBeGreaterThanOrEqual((requests - 1) * 4);
    await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows, requests: different }) => rows === different && rows >= turns(),
    );
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ inFlight, queued }) => inFlight === 0 && queued === 0,
    );
  });
});
