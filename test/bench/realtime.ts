/**
 * `npm run bench:realtime`: 1,000 realtime sessions at once on one machine, through a stack of its own. Each sends audio for a
 * while and gets one response. Beside the gateway's figures are those of the same sessions at the upstream alone. It is void when a
 * session ended early, or a row is missing.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { openRealtime, type RealtimeClient } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { markdownTable } from "../harness/text-table.ts";
import { waitFor } from "../harness/wait-for.ts";
import { cpuMsOf, forgetPeak, peakMbOf } from "./process-usage.ts";

const SESSIONS = Number(process.argv[2] ?? 1_000);
/** So many are opened at a time. */
const AT_ONCE = 50;
/** Each session sends 100 ms of audio (PCM of 16 bits at 24 kHz) so often. */
const AUDIO = { type: "input_audio_buffer.append", audio: Buffer.alloc(4_800).toString("base64") };
const AUDIO_EVERY_MS = 1_000;
const AUDIO_TURNS = 5;

interface Figures {
  readonly openMs: readonly number[];
  readonly responseMs: readonly number[];
}

const at = (values: readonly number[], part: number): string =>
  (values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN).toFixed(0);

async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work();
  times.push(performance.now() - began);
  return done;
}

/** Opens the sessions, speaks, and asks each for one response. `whileOpen` is called while all are open. */
async function measured(origin: string, minted: Minted, whileOpen: () => Promise<void>): Promise<Figures> {
  const [openMs, responseMs]: [number[], number[]] = [[], []];
  const clients: RealtimeClient[] = [];
  while (clients.length < SESSIONS)
    clients.push(
      ...(await Promise.all(
        Array.from(
          { length: AT_ONCE },
          async () => await timed(openMs, async () => await openRealtime(origin, minted)),
        ),
      )),
    );
  for (let turn = 0; turn < AUDIO_TURNS; turn += 1) {
    for (const client of clients) client.send(AUDIO);
    await pause(AUDIO_EVERY_MS);
  }
  const answered = clients.map(async (client) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    client.socket.on("message", () => client.of("response.done").length > 0 && resolve());
    client.send({ type: "response.create" });
    await promise;
  });
  await Promise.all(answered.map(async (one) => await timed(responseMs, async () => await one)));
  await whileOpen();
  if (clients.some(({ closed }) => closed !== null)) throw new Error("void: a session ended early");
  for (const { socket } of clients) socket.close();
  return { openMs, responseMs };
}

const upstream = await startRealtimeUpstream();
const stack = await startTestStack({ GATEWAY_GLOBAL_MAX_IN_FLIGHT: String(SESSIONS * 2) });
const gateway = new Gateway(stack);
try {
  const minted = await gateway.mint(upstream.url, "bench");
  const direct = { ...minted, model: { ...minted.model, model_name: "direct" } };
  const alone = await measured(upstream.url.replace(/\/v1$/, ""), direct, async () => undefined);
  const { pid } = stack.parts.get("workerd") ?? {};
  const used = () => ({ cpuMs: cpuMsOf(pid as number) ?? Number.NaN, mib: peakMbOf(pid as number) ?? Number.NaN });
  forgetPeak(pid as number);
  const before = used();
  let after = before;
  const through = await measured(stack.proxyUrl, minted, async () => {
    after = used();
  });
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === SESSIONS * 2,
  );
  const line = (name: string, { openMs, responseMs }: Figures): readonly string[] => [
    name,
    at(openMs, 0.5),
    at(openMs, 0.99),
    at(responseMs, 0.5),
    at(responseMs, 0.99),
  ];
  console.log(
    markdownTable(
      [`${SESSIONS} sessions`, "open p50, ms", "open p99, ms", "response p50, ms", "response p99, ms"],
      [line("upstream alone", alone), line("gateway", through)],
    ),
  );
  const [kibibytes, cpuMs] = [((after.mib - before.mib) * 1024) / SESSIONS, (after.cpuMs - before.cpuMs) / SESSIONS];
  console.log(`a session: ${kibibytes.toFixed(0)} KiB of the Worker process and ${cpuMs.toFixed(0)} ms of its CPU`);
} finally {
  await stack.stop();
  await upstream.close();
}
process.exit();
