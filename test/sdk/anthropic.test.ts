/**
 * The Anthropic SDK on `/v1/messages`, which is governed and billed like chat.
 *
 * @module-tag check
 */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

/** The SDK sends its key as `x-api-key`. */
function clientOf(minted: Minted): Anthropic {
  return new Anthropic({ baseURL: fixture.gateway.proxyUrl, apiKey: minted.secret, maxRetries: 0 });
}

const request = (minted: Minted) => ({
  model: minted.model.model_name,
  max_tokens: 64,
  system: "Be brief.",
  messages: [{ role: "user" as const, content: "hi" }],
});

describe("the Anthropic SDK", () => {
  it("gets a message; its key is not forwarded and its own headers are", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { api_dialect: "anthropic" });
    const { data, response } = await clientOf(minted).messages.create(request(minted)).withResponse();
    expect({ content: data.content, usage: data.usage }).toMatchObject({
      content: [{ type: "text", text: "hello" }],
      usage: { input_tokens: 11, output_tokens: 22 },
    });
    const [call] = upstream.seen(minted.mark);
    expect(call?.json).toEqual({ ...request(minted), model: "upstream-name" });
    expect(call?.headers["anthropic-version"]).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(call?.headers).not.toHaveProperty("x-api-key");
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      request_type: "messages",
      input_tokens: 11,
      output_tokens: 22,
      session_id_source: "derived",
    });
  });

  it("streams a message, whose usage is read from its first and last events", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { api_dialect: "anthropic" });
    const stream = clientOf(minted).messages.stream(request(minted));
    const message = await stream.finalMessage();
    expect({ content: message.content[0], usage: message.usage }).toMatchObject({
      content: { type: "text", text: "x".repeat(40_000) },
      usage: { input_tokens: 11, output_tokens: 22 },
    });
    const { response } = await stream.withResponse();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      input_tokens: 11,
      output_tokens: 22,
      status_code: 200,
    });
  });

  it("raises the refusal in the middle of a stream whose key is disabled", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=100000,pace=50");
    const messages = [{ role: "user" as const, content: minted.mark }];
    const stream = await clientOf(minted).messages.create({ ...request(minted), messages, stream: true });
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    const read = async () => {
      for await (const _event of stream);
    };
    await expect(read()).rejects.toMatchObject({
      type: "permission_error",
      error: { error: { code: "api_key_disabled" } },
    });
  });

  it("raises its own error classes", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { api_dialect: "anthropic" });
    const unknown = clientOf(minted).messages.create({ ...request(minted), model: "absent" });
    await expect(unknown).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    const stranger = new Anthropic({ baseURL: fixture.gateway.proxyUrl, apiKey: `sk_${"1".repeat(48)}` });
    await expect(stranger.messages.create(request(minted))).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });
});
