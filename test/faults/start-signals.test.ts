/**
 * A start says what it waits for, and obeys signals at every moment (docs/rules/local-stack.md#start-and-stop).
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Gateway } from "../harness/gateway.ts";
import { launch, launchGroup, launchReady, pidsBelow, processesOf, whenReady } from "../harness/launched.ts";
import { ownPort } from "../harness/own-port.ts";
import type { ProgramProcess } from "../harness/program-process.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/** What a start that is given up may take. */
const WITHIN_MS = 5_000;

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-signals-"));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

/** The process of a part, as soon as it is there; `part` is in its command line. */
async function whenStarted({ pid }: ProgramProcess, part: string): Promise<number> {
  const found = await waitFor(
    async () => await pidsBelow(pid, part),
    (pids) => pids.length > 0,
  );
  return found[0] ?? 0;
}

async function leavesNoProcess(): Promise<void> {
  await waitFor(
    async () => await processesOf(dataDir, "axeww"),
    (left) => left.length === 0,
  );
}

/** Ends a start by `signal`, and checks how it ended. */
async function endsCleanly(program: ProgramProcess, signal: NodeJS.Signals): Promise<void> {
  const beganMs = performance.now();
  const code = await program.end(signal);
  const tookMs = performance.now() - beganMs;
  expect({
    code,
    isInTime: tookMs < WITHIN_MS,
    startedAgain: program.lines.filter((line) => line.includes("starting it again")),
    last: program.log().at(-1)?.["event"],
  }).toEqual({ code: 0, isInTime: true, startedAgain: [], last: "stopped" });
  await leavesNoProcess();
}

describe("a signal during a start", () => {
  it.each([
    ["SIGINT", "clickhouse/main.ts"],
    ["SIGTERM", "workerd"],
    ["SIGTERM", "control/main.ts"],
  ] as const)("%s ends it within 5 s when %s is there, and the next start works", async (signal, part) => {
    const program = launch(dataDir);
    await whenStarted(program, part);
    await endsCleanly(program, signal);
    const again = await launchReady(dataDir);
    expect(await again.end()).toBe(0);
  });

  it("Ctrl-C in a terminal, which signals the whole group, starts nothing again", async () => {
    const program = launchGroup(dataDir);
    await whenStarted(program, "control/main.ts");
    process.kill(-program.pid, "SIGINT");
    expect({
      code: await program.exited,
      startedAgain: program.lines.filter((line) => line.includes("starting it again")),
    }).toEqual({ code: 0, startedAgain: [] });
    await leavesNoProcess();
  });

  it("ends a start that a part holds up, which has said what it waits for", async () => {
    const program = launch(dataDir);
    process.kill(await whenStarted(program, "control/main.ts"), "SIGSTOP");
    const told = await waitFor(
      () => program.log().filter(({ event, for: part }) => event === "start_waits" && part === "control"),
      (lines) => lines.length > 1,
    );
    expect(told.map(({ secs }) => Number(secs) > 0)).not.toContain(false);
    await endsCleanly(program, "SIGTERM");
  });
});

it("the port refuses connections until a request would be served", async () => {
  const port = await ownPort();
  const program = launch(dataDir, { GATEWAY_PROXY_LISTEN: `127.0.0.1:${port}` });
  const answer = async (): Promise<number | string> =>
    await fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ status }) => status,
      (error: Error) => (error.cause as NodeJS.ErrnoException).code ?? "",
    );
  const control = await whenStarted(program, "control/main.ts");
  process.kill(control, "SIGSTOP");
  // the Worker runs by then, and nobody has written its configuration
  await waitFor(
    async () => await pidsBelow(program.pid, "workerd"),
    (pids) => pids.length > 0,
  );
  expect(await answer()).toBe("ECONNREFUSED");
  process.kill(control, "SIGCONT");
  const opened = await waitFor(answer, (answered) => answered !== "ECONNREFUSED");
  expect(opened).toBe(200);
  await whenReady(program, dataDir);
  await program.end();
});

it("a second signal kills what the first one lets end in order", async () => {
  const upstream = await startTestUpstream();
  const program = launch(dataDir);
  const gateway = new Gateway(await whenReady(program, dataDir));
  const stream = await gateway.chat(await gateway.mint(upstream.url, "chunks=100000,pace=20"), { stream: true });
  await stream.body?.getReader().read();
  let code: number | null | undefined;
  void program.exited.then((ended) => (code = ended));
  await waitFor(
    () => {
      void program.end("SIGTERM");
      return code;
    },
    (ended) => ended !== undefined,
  );
  expect({ code, last: program.lines.at(-1) }).toEqual({
    code: 1,
    last: "gateway: ended at once by a second SIGTERM",
  });
  await leavesNoProcess();
  await upstream.close();
});
