/** What every front must do for the data plane behind it. The same tests run behind each, over each protocol that it speaks. */
import { describe, expect, it } from "vitest";
import type { Fixture } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { rawRequest } from "../harness/raw-request.ts";
import { openRealtime } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ask, type FrontAddress, type HttpsRequest, type Protocol, send } from "./https-client.ts";

const MAX_BODY_BYTES = 33_554_432;

interface FrontUnderTest {
  /** The front, which runs once tests do. */
  readonly front: () => FrontAddress;
  /** The name under which it serves the data plane. */
  readonly host: string;
  readonly fixture: () => Fixture;
}

export function itServesTheDataPlane({ front, host, fixture }: FrontUnderTest, protocols: readonly Protocol[]): void {
  const realtime = useStarted(startRealtimeUpstream);
  const chat = ({ secret, model, mark }: Minted, more: Readonly<Record<string, unknown>> = {}): HttpsRequest => ({
    host,
    path: "/v1/chat/completions",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: model.model_name, messages: [{ role: "user", content: mark }], ...more }),
  });
  const upstreamCall = async ({ mark }: Minted) => {
    const { upstream } = fixture();
    return await waitFor(() => upstream.seen(mark)[0]);
  };
  const mint = async (behaviour: string): Promise<Minted> =>
    await fixture().gateway.mint(fixture().upstream.url, behaviour);

  it("refuses plain HTTP, and leads nobody on who has sent a key in it", async () => {
    const minted = await mint("plain");
    const { path, headers, body = "" } = chat(minted);
    const answer = await rawRequest(`http://127.0.0.1:${front().plainPort}`, {
      method: "POST",
      path,
      headers: { host, ...headers },
      body,
    });
    expect({
      status: answer.status,
      location: answer.headers.location,
      seen: fixture().upstream.seen(minted.mark),
    }).toEqual({ status: 400, location: undefined, seen: [] });
  });

  it("passes a realtime session on, and the code with which it is closed", async () => {
    const minted = await fixture().gateway.mint(realtime().url, "front");
    const { port, ca } = front();
    const headers = { authorization: `Bearer ${minted.secret}`, host };
    const over = { ca, servername: host };
    const client = await openRealtime(`https://127.0.0.1:${port}`, minted, { headers, over });
    await client.got("session.created");
    client.socket.close(4001, "over");
    expect(await client.end()).toEqual({ code: 4001, reason: "over" });
  });

  describe.each(protocols)("over %s", (protocol) => {
    it("answers, and sends no header of its own on to the upstream", async () => {
      const minted = await mint("plain");
      const answer = await ask(front(), protocol, chat(minted));
      expect({ status: answer.status, text: answer.text }).toEqual({
        status: 200,
        text: expect.stringContaining("hello world"),
      });
      expect(answer.headers["x-gateway-request-id"]).toBeDefined();
      const { headers } = await upstreamCall(minted);
      expect(Object.keys(headers).filter((name) => /^(?:x-forwarded|via|x-real|x-envoy|forwarded)/.test(name))).toEqual(
        [],
      );
    });

    it("passes events on before the answer ends", async () => {
      const minted = await mint("chunks=9,stall");
      const sent = send(front(), protocol, chat(minted, { stream: true }));
      const answer = await sent.answer;
      await waitFor(answer.text, (text) => text.split("data: ").length > 2);
      expect((await upstreamCall(minted)).cutOff).toBe(false);
      sent.leave();
    });

    it.each([
      ["before the first byte", "hang", ""],
      ["in the middle of a stream", "chunks=9,stall", "data: "],
      ["while events come", "chunks=100000,pace=20", "data: "],
    ])("ends the upstream's call when the client leaves %s", async (_, behaviour, heard) => {
      const minted = await mint(behaviour);
      const sent = send(front(), protocol, chat(minted, { stream: true }));
      sent.answer.catch(() => undefined);
      const call = await upstreamCall(minted);
      if (heard !== "") await waitFor((await sent.answer).text, (text) => text.includes(heard));
      sent.leave();
      await waitFor(() => call.cutOff);
      const row = await waitFor(async () => (await fixture().gateway.rows(minted.tenant.id))[0]);
      expect(row.status_code).toBe(499);
    });

    it("carries a body of 32 MiB, and the gateway's own refusal of a larger one", async () => {
      const minted = await mint("plain");
      const { body: short } = chat(minted, { filler: "" });
      const filled = (bytes: number): HttpsRequest =>
        chat(minted, { filler: "x".repeat(bytes - Buffer.byteLength(short ?? "")) });
      expect((await ask(front(), protocol, filled(MAX_BODY_BYTES))).status).toBe(200);
      expect((await upstreamCall(minted)).headers["content-length"]).toBeDefined();
      const refused = await ask(front(), protocol, filled(MAX_BODY_BYTES + 1));
      expect({ status: refused.status, body: JSON.parse(refused.text) }).toMatchObject({
        status: 413,
        body: { error: { code: "request_too_large" } },
      });
    });

    it("carries an answer of 8 MB whole", async () => {
      const answer = await ask(front(), protocol, chat(await mint("mb=8")));
      expect({ status: answer.status, textLength: answer.text.length }).toEqual({
        status: 200,
        textLength: expect.closeTo(8 * 1_048_576, -4),
      });
    });
  });
}
