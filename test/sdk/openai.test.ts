/** The official OpenAI SDK with a changed base URL. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey, maxRetries: 0 });
}

const request = (minted: Minted) => ({
  model: minted.model.model_name,
  messages: [{ role: "user" as const, content: minted.mark }],
});

describe("the OpenAI SDK", () => {
  it("gets a completion, with the request id of its row", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const completion = await clientOf(minted.secret).chat.completions.create(request(minted));
    expect(completion.choices[0]?.message.content).toBe("hello world");
    expect(completion.usage?.total_tokens).toBe(33);
    expect(await fixture.gateway.row(minted.tenant.id, completion._request_id ?? null)).toMatchObject({
      total_tokens: 33,
    });
  });

  it("streams", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=6,pace=5");
    const stream = await clientOf(minted.secret).chat.completions.create({ ...request(minted), stream: true });
    const words: string[] = [];
    for await (const chunk of stream) words.push(chunk.choices[0]?.delta.content ?? "");
    expect(words.join("")).toBe("w0 w1 w2 w3 w4 w5 ");
  });

  it("aborts, and the upstream call ends", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=1000,pace=10");
    const stream = await clientOf(minted.secret).chat.completions.create({ ...request(minted), stream: true });
    for await (const _ of stream) break;
    stream.controller.abort();
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cut) => cut === true,
    );
  });

  it("lists the models", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const ids: string[] = [];
    for await (const model of clientOf(minted.secret).models.list()) ids.push(model.id);
    expect(ids).toContain(minted.model.model_name);
  });

  it("raises its own error classes", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "status=500");
    const client = clientOf(minted.secret);
    const absent = client.chat.completions.create({ ...request(minted), model: "absent" });
    await expect(absent).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
      type: "not_found_error",
    });
    await expect(absent).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(client.chat.completions.create({ ...request(minted), model: "" })).rejects.toBeInstanceOf(
      OpenAI.BadRequestError,
    );
    await expect(client.chat.completions.create(request(minted))).rejects.toBeInstanceOf(OpenAI.InternalServerError);
    await expect(clientOf(`sk_${"1".repeat(48)}`).models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    await expect(client.chat.completions.create(request(minted))).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError);
  });
});
