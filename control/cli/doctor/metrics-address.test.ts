/** Where the doctor looks for the metrics listener. */
import { expect, it, onTestFinished } from "vitest";
import { startHttpSink } from "../../../test/harness/http-sink.ts";
import { diagnose } from "./diagnose.ts";
import { parseDoctorEnv } from "./doctor-env.ts";
import { METRICS } from "./metrics-examination.ts";

const NOBODY = "http://127.0.0.1:9";

/** The finding about the listener, by the variables. */
async function reached(variables: Readonly<Record<string, string>>) {
  const findings = await diagnose({
    env: parseDoctorEnv(variables),
    adminUrl: NOBODY,
    adminToken: null,
    metricsUrl: null,
    edgeUrls: [],
    tlsEndpoints: [],
    backups: null,
    release: "0.0.0",
    runbooks: "",
    withinMs: 10_000,
  });
  return findings.find(({ part, check }) => part === METRICS && check === "reachable");
}

it.each(["127.0.0.1", "0.0.0.0"])("is at GATEWAY_METRICS_LISTEN, with the host %s", async (host) => {
  const listener = await startHttpSink(() => ({ body: 'gateway_cell_up{cell="a"} 1\n' }));
  onTestFinished(async () => await listener.close());
  const { port } = new URL(listener.url);
  expect(await reached({ GATEWAY_METRICS_LISTEN: `${host}:${port}` })).toMatchObject({
    state: "ok",
    detail: "shows 1 series",
  });
});

it("is not skipped where the variable says that it is; else it is, and names the option", async () => {
  const missed = await reached({ GATEWAY_METRICS_LISTEN: "127.0.0.1:9" });
  expect(missed?.state).not.toBe("skipped");
  const guessed = await reached({});
  // another gateway on this machine may have the usual port
  if (guessed?.state !== "ok")
    expect(guessed).toMatchObject({
      state: "skipped",
      detail: expect.stringMatching(/: name it with --metrics <url>$/),
    });
});
