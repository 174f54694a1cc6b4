/**
 * Calls for files of a tenant are few at once, and downloads have their length (docs/rules/batches.md#routes).
 *
 * @module-tag check
 */
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

describe("calls for files", () => {
  it("are few at once for each tenant, whose others get 429, and other tenants are served", async () => {
    const [minted, other] = [
      await fixture.gateway.mint(fixture.upstream.url),
      await fixture.gateway.mint(fixture.upstream.url),
    ];
    const url = `${fixture.gateway.proxyUrl}/v1/files`;
    const listed = async ({ secret }: Minted) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${secret}` } });
      const body = (await response.json()) as { error?: { code: string } };
      return { status: response.status, code: body.error?.code, retry: response.headers.get("retry-after") };
    };
    const leaving = new AbortController();
    const upload = async () => {
      const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "multipart/form-data; boundary=b" };
      const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("--b\r\n")) });
      const init = { method: "POST", headers, body, duplex: "half", signal: leaving.signal } as RequestInit;
      return await fetch(url, init).catch(() => null);
    };
    const uploads: Promise<unknown>[] = [];
    // one more with each look: the stack may have several Workers, and each has its own
    const refused = await waitFor(
      async () => {
        uploads.push(upload());
        return await listed(minted);
      },
      ({ status }) => status !== 200,
    );
    expect({ refused, other: await listed(other) }).toEqual({
      refused: { status: 429, code: "files_busy", retry: "1" },
      other: { status: 200, code: undefined, retry: null },
    });
    leaving.abort();
    await Promise.all(uploads);
    await waitFor(
      async () => await listed(minted),
      ({ status }) => status === 200,
    );
  });

  it("give a file with its length", async () => {
    const { secret } = await fixture.gateway.mint(fixture.upstream.url);
    const client = new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: secret, maxRetries: 0 });
    const content = "x".repeat(600_000);
    const file = await client.files.create({ file: await toFile(Buffer.from(content), "a.jsonl"), purpose: "batch" });
    const response = await client.files.content(file.id);
    expect({ length: response.headers.get("content-length"), same: (await response.text()) === content }).toEqual({
      length: String(content.length),
      same: true,
    });
  });
});
