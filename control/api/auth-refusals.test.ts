/** Wrong tokens: counted, reported and answered late (docs/rules/authentication.md#wrong-tokens). */
import { Hono } from "hono";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { trustedProxiesField } from "../kernel/trusted-proxies.ts";
import { AuthRefusals } from "./auth-refusals.ts";

function refusing(proxies = "") {
  const lines: Record<string, unknown>[] = [];
  const alerts: RaisedAlert[] = [];
  const sleeping: (() => void)[] = [];
  const clock = { nowMs: 1_700_000_000_000 };
  const refusals = new AuthRefusals({
    log: pino(
      { base: null },
      { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    sink: { take: async (taken) => void alerts.push(...taken) },
    cell: "here",
    proxies: z.object({ proxies: trustedProxiesField }).parse({ proxies }).proxies,
    now: () => clock.nowMs,
    sleep: async (ms) => {
      expect(ms).toBe(250);
      await new Promise<void>((wake) => sleeping.push(wake));
    },
  });
  const app = new Hono();
  app.get("*", async (c) => {
    await refusals.refuse(c);
    return c.text("refused", 401);
  });
  const request = async (
    authorization: string | null,
    address = "10.0.0.1",
    more: Readonly<Record<string, string>> = {},
  ) =>
    await app.request("/", authorization === null ? {} : { headers: { authorization, ...more } }, {
      incoming: { socket: { remoteAddress: address } },
    });
  return { refusals, request, lines, alerts, sleeping, clock };
}

describe("a wrong token", () => {
  it("is answered when its time is over, and counted; no token at all is neither", async () => {
    const { refusals, request, sleeping, lines } = refusing();
    expect((await request(null)).status).toBe(401);
    expect({ refusalCount: refusals.total, sleepingCount: sleeping.length, lines }).toEqual({
      refusalCount: 0,
      sleepingCount: 0,
      lines: [],
    });
    const answer = request("Bearer wrong", "::ffff:192.0.2.7");
    await expect.poll(() => sleeping.length).toBe(1);
    expect(lines).toMatchObject([{ event: "auth_failed", plane: "admin", address: "192.0.2.7", failures: 1 }]);
    sleeping[0]?.();
    expect((await answer).status).toBe(401);
    expect(refusals.total).toBe(1);
  });

  it("is reported with the address that a listed proxy says, and with the peer's own else", async () => {
    const { request, sleeping, lines, clock } = refusing("10.0.0.0/8");
    for (const [peer, reported] of [
      ["10.0.0.1", "203.0.113.9"],
      ["192.0.2.7", "192.0.2.7"],
    ] as const) {
      clock.nowMs += 1000;
      const answer = request("Bearer wrong", peer, { "x-forwarded-for": "1.2.3.4, 203.0.113.9" });
      await expect.poll(() => sleeping.length).toBe(1);
      sleeping.pop()?.();
      await answer;
      expect(lines.pop()).toMatchObject({ address: reported });
    }
  });

  it("is answered late however many there are", async () => {
    const { refusals, request, sleeping } = refusing();
    const answers = Array.from({ length: 400 }, async () => await request("Bearer wrong"));
    await expect.poll(() => sleeping.length).toBe(400);
    expect(refusals.total).toBe(400);
    for (const wake of sleeping) wake();
    for (const { status } of await Promise.all(answers)) expect(status).toBe(401);
  });

  it("that is one of twenty in a minute raises one alert, and the log has a line a second", async () => {
    const { request, sleeping, alerts, lines, clock } = refusing();
    for (let count = 0; count < 60; count += 1) {
      clock.nowMs += 500;
      const answer = request("Bearer wrong", `10.0.0.${count % 2}`);
      await expect.poll(() => sleeping.length).toBe(count + 1);
      sleeping[count]?.();
      await answer;
    }
    expect(alerts).toMatchObject([
      {
        issueKey: "admin_auth_failures",
        title: "Wrong admin tokens",
        detail: "20 wrong tokens from 2 addresses in a minute",
        cell: "here",
        count: 1,
      },
    ]);
    expect(lines).toHaveLength(30);
  });
});
