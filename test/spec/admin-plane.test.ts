/**
 * Wrong admin and internal tokens on the running stack: both planes count them, log them with their address, and raise
 * an alert (docs/rules/authentication.md#wrong-tokens).
 */
import { describe, expect, inject, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { mainRows } from "../harness/main-rows.ts";
import { StackLog } from "../harness/stack-log.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const log = new StackLog(inject("logFile"));

async function failures(series: string): Promise<number> {
  const text = await (await fetch(`${inject("metricsUrl")}/metrics`)).text();
  const found = text.split("\n").find((line) => line.startsWith(`gateway_auth_failures_total${series} `));
  return Number(found?.split(" ").at(-1));
}

const statusFor = async (url: string, token: string): Promise<number> => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await response.text();
  return response.status;
};

/** The log lines of a part that contain this event. */
const lines = (part: string, event: string): readonly string[] =>
  log
    .text()
    .split("\n")
    .filter((line) => line.startsWith(`${part} | `) && line.includes(event));

describe("guessing", () => {
  mainRows(1)([
    ["the admin token", () => `${inject("adminUrl")}/api/v1/tenants`, 401, '{plane="admin"}', "control"],
    [
      "the internal token of the control service",
      () => `${inject("adminUrl")}/internal/x`,
      404,
      '{plane="admin"}',
      "control",
    ],
    [
      "the internal token of a Worker",
      () => `${fixture.gateway.proxyUrl}/internal/stats`,
      404,
      '{plane="data",cell="local"}',
      "workerd",
    ],
  ] as const)(
    "%s is counted and logged, and raises an alert from twenty in a minute on",
    async (_what, url, status, series, part) => {
      const before = await failures(series);
      expect(before).toBeGreaterThanOrEqual(0);
      const statuses = await Promise.all(
        Array.from({ length: 25 }, async (_, at) => await statusFor(url(), `guess-${at}`)),
      );
      expect(new Set(statuses)).toEqual(new Set([status]));
      await waitFor(
        async () => await failures(series),
        (count) => count >= before + 25,
      );
      const address = part === "control" ? /"address":"127\.0\.0\.1"/ : /"address":"unknown"/;
      // There is a line at most once a second, and a test before this one may have had it.
      await waitFor(
        async () => {
          await statusFor(url(), "guess-again");
          return lines(part, '"event":"auth_failed"').at(-1) ?? "";
        },
        (line) => address.test(line),
      );
      await waitFor(
        () => lines("control", '"key":"admin_auth_failures"').at(-1) ?? "",
        (line) => /"title":"Wrong admin tokens","detail":"\d\d wrong tokens from 1 address in a minute"/.test(line),
      );
      expect(log.text()).not.toContain("guess-");
    },
  );

  it("is refused with the admin token as internal token, because the internal one is derived", async () => {
    expect(inject("internalToken")).not.toBe(inject("adminToken"));
    expect(await statusFor(`${fixture.gateway.proxyUrl}/internal/stats`, inject("adminToken"))).toBe(404);
    expect(await statusFor(`${fixture.gateway.proxyUrl}/internal/stats`, inject("internalToken"))).toBe(200);
    expect(await statusFor(`${inject("adminUrl")}/api/v1/tenants`, inject("internalToken"))).toBe(401);
  });

  it("does not include requests without a token", async () => {
    const counted = async (): Promise<number> => {
      const before = await failures('{plane="admin"}');
      for (let count = 0; count < 5; count += 1)
        expect((await fetch(`${inject("adminUrl")}/api/v1/tenants`)).status).toBe(401);
      return (await failures('{plane="admin"}')) - before;
    };
    // Other tests of this stack send wrong tokens, too, but not all the time.
    await waitFor(counted, (count) => count === 0);
  });
});
