/**
 * Everything that a run needs, started in order and ended in reverse order, also when the start fails half way: upstream,
 * floor, gateway, peer, load generator. Only the parts that the wanted targets need are started.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Guard, startGuard } from "../../infra/local/process/child.ts";
import { startFloor } from "./floor.ts";
import { type Governed, startGoverned } from "./governed.ts";
import { type Load, OF_ONE_PROCESS, type TargetName, WORKERS } from "./loads.ts";
import { PEERS, type Peer, startPeer } from "./peer.ts";
import type { Slice, SliceResult } from "./slice.ts";
import type { Target } from "./targets.ts";

interface HelperProcess<Input, Answer, Ready> {
  readonly pid: number;
  /** What the process reported when it was ready. */
  readonly ready: Ready;
  /** Sends a message; resolves with its answer, rejects when the process answers with an error or ends. */
  call(message: Input): Promise<Answer>;
  close(): Promise<void>;
}

interface Message<Answer, Ready> {
  readonly id?: number;
  readonly answer?: Answer;
  readonly error?: string;
  readonly ready?: Ready;
}

/**
 * Starts `script` (a path), which gets messages over a channel and answers them, and resolves when it is ready. Rejects when it
 * ends before. It ends with the bench, for whatever reason.
 */
async function startHelper<Input, Answer, Ready>(
  script: string,
  args: readonly string[],
  guard: Guard,
): Promise<HelperProcess<Input, Answer, Ready>> {
  const child = fork(script, args, { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${script} cannot be started`);
  guard.watch(pid);
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  const ready = Promise.withResolvers<Ready>();
  const exited = once(child, "exit").then(() => {
    guard.forget(pid);
    const gone = new Error(`${script} has ended`);
    ready.reject(gone);
    for (const { reject } of waiting.values()) reject(gone);
    waiting.clear();
  });
  child.on("error", () => undefined); // The end of the process reports the same.
  child.on("message", (message) => {
    const { id, answer, error, ready: said } = message as Message<Answer, Ready>;
    if (said !== undefined) ready.resolve(said);
    const waiter = id === undefined ? undefined : waiting.get(id);
    if (id === undefined || waiter === undefined) return;
    waiting.delete(id);
    if (error === undefined) waiter.resolve(answer as Answer);
    else waiter.reject(new Error(error));
  });
  let lastId = 0;
  return {
    pid,
    ready: await ready.promise,
    call: async (input) => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${script} has ended`);
      lastId += 1;
      const answer = Promise.withResolvers<Answer>();
      waiting.set(lastId, answer);
      child.send({ id: lastId, input });
      return await answer.promise;
    },
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

export type Generator = HelperProcess<Slice, SliceResult, unknown>;

export type Places = Awaited<ReturnType<typeof startPlaces>>;

const here = (script: string): string => join(import.meta.dirname, script);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/**
 * The process with the objects is the measured one; the Worker processes before it, if there are any, are counted as other
 * processes.
 */
function governedTargets(
  governed: Governed,
  many: readonly string[],
): readonly [past: Target, through: Target, guarded: Target, switchedOff: Target] {
  const { stack, secret, guarded, switchedOff } = governed;
  const headers = ({ tenants }: Load) => (tenants === "many" ? many : [secret]).map(bearer);
  const pid = stack.parts.get("workerd")?.pid ?? null;
  const beside = [...stack.parts.values()].flatMap((part) => (part.pid === null || part.pid === pid ? [] : [part.pid]));
  const past = {
    name: "governed",
    pid,
    beside,
    base: () => `${stack.runtimeUrls()[0] ?? stack.proxyUrl}/v1`,
    headers,
  } as const;
  return [
    past,
    { name: "front", pid, beside, base: () => `${stack.proxyUrl}/v1`, headers },
    { ...past, name: "guarded", headers: () => [bearer(guarded)] },
    { ...past, name: "switched-off", headers: () => [bearer(switchedOff)] },
  ];
}

/** What a session needs. */
export interface WantedPlaces {
  readonly targets: ReadonlySet<TargetName>;
  /** The number of tenants of the loads with many tenants. */
  readonly tenants: number;
  /** Whether the gateway's runtime can be inspected. */
  readonly inspect?: boolean;
}

/** Starts what is wanted. When a part cannot be started it rejects, and everything is ended again. */
export async function startPlaces({ targets: wanted, tenants, inspect = false }: WantedPlaces) {
  const undo: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
  };
  try {
    const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const guard = startGuard();
    undo.push(() => guard.close());
    const share = String(Math.max(1, Math.floor(availableParallelism() / 2)));
    const upstream = await startHelper<never, never, { port: number }>(here("upstream.ts"), [share], guard);
    undo.push(() => upstream.close());
    const origin = `http://127.0.0.1:${upstream.ready.port}`;
    const generator = await startHelper<Slice, SliceResult, unknown>(here("load/main.ts"), [], guard);
    undo.push(() => generator.close());

    const targets = new Map<TargetName, Target>();
    const notes: string[] = [];
    const keep = (target: Target): void => {
      if (wanted.has(target.name)) targets.set(target.name, target);
    };
    const plain = () => [{ authorization: "Bearer none" }];
    keep({
      name: "direct",
      pid: null,
      beside: [],
      base: ({ behaviour }) => `${origin}/${behaviour}/v1`,
      headers: plain,
    });
    for (const [name, kind] of [
      ["floor", "bare"],
      ["one-call", "one call"],
    ] as const) {
      if (!wanted.has(name)) continue;
      const floor = await startFloor(kind, join(folder, name), origin, guard);
      undo.push(() => floor.close());
      const base = ({ behaviour }: Load): string => `${floor.origin}/${behaviour}/v1`;
      keep({ name, pid: floor.pid, beside: [], base, headers: plain });
    }
    // Installing and starting peers takes the network's time, starting the stack takes the machine's time.
    const peers = PEERS.filter(({ target }) => wanted.has(target));
    const peerStarts = Promise.allSettled(peers.map(async (peer) => await startPeer(peer, { guard, folder, origin })));
    undo.push(async () => {
      for (const peer of await peerStarts) if (peer.status === "fulfilled") await peer.value.close();
    });
    let governed: Governed | null = null;
    if (OF_ONE_PROCESS.some((name) => wanted.has(name))) {
      governed = await startGoverned(folder, origin, { inspect });
      const { stack } = governed;
      undo.push(() => stack.stop());
      const many = tenants === 0 ? [] : await governed.mintMany(tenants);
      for (const target of governedTargets(governed, many)) keep(target);
    }
    let workers: Governed | null = null;
    if (wanted.has("workers")) {
      workers = await startGoverned(join(folder, "workers"), origin, { workers: WORKERS, inspect });
      const { stack } = workers;
      undo.push(() => stack.stop());
      const [, through] = governedTargets(workers, tenants === 0 ? [] : await workers.mintMany(tenants));
      keep({ ...through, name: "workers" });
    }
    for (const [at, peer] of (await peerStarts).entries()) {
      const { target: name, title } = peers[at] as Peer;
      if (peer.status === "rejected") notes.push(`no ${name}: ${title} could not be had (${messageOf(peer.reason)})`);
      else {
        const { pid, origin: base, headers } = peer.value;
        keep({ name, pid, beside: [], base: () => `${base}/v1`, headers: (load) => [headers(load)] });
      }
    }
    return {
      generator,
      /** The folder of the run; removed in the end. */
      folder,
      /** The origin of the upstream. */
      origin,
      governed,
      /** The gateway with several Worker processes. */
      workers,
      targets: targets as ReadonlyMap<TargetName, Target>,
      /** Which parts are missing, and why. */
      notes: notes as readonly string[],
      /** Runs `step` before everything else is ended. */
      beforeClosing: (step: () => Promise<void>): void => void undo.push(step),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
