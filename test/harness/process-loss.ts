/**
 * A process of the gateway that is killed, or stands still, under load: long streams hold all slots of one model, others wait for
 * them, and clients of another model send one call after another. Afterwards every call is accounted for.
 */
import { expect, onTestFinished } from "vitest";
import { sleep } from "../../shared/time/sleep.ts";
import { type AccountedCall, AccountedCalls } from "./accounted-calls.ts";
import type { Gateway, Minted } from "./gateway.ts";
import type { TestUpstream } from "./test-upstream.ts";
import { waitFor } from "./wait-for.ts";

const SLOTS = 3;
/** Clients of short calls, through all processes. */
const CLIENTS = 24;
/** Answers before and after the loss, of each client. */
const ENOUGH = 10;
const PACE_MS = 100;
const LONGER_MS = 6_000;
/** A process that is killed may lose the rows that it has had for less than this (docs/rules/settlement-and-rows.md#custody). */
const PROMISED_AFTER_MS = 1_000;

/** What a process suffers, and for how long; null: it is killed. */
export const LOSSES = [
  ["stands still for 1 s", 1_000],
  ["stands still for 3.5 s", 3_500],
  ["stands still for 10 s", 10_000],
  ["is killed", null],
] as const;

interface ProcessLoss {
  readonly fault: string;
  readonly upstream: TestUpstream;
  /** How long its pauses take; null: it is killed. */
  readonly pausedMs: number | null;
  /** Streams last so much longer than the pauses, or than a killed process holds its slots. */
  readonly longerMs?: number;
  /** The gateway, through each of its processes that serve now. */
  readonly gateways: () => readonly Gateway[];
  /** Those of them whose process is lost. */
  readonly lost: readonly Gateway[];
  /** Whether that process has ended: what it was answering is cut off then. */
  readonly ends: () => boolean;
  /** Whether it has ended before, on a machine too busy for its lease: then any of its rows may be lost. */
  readonly hasEnded?: () => boolean;
  /** Whether the Cell ends with it. */
  readonly losesCell: boolean;
  /** Whether another process has ended too. */
  readonly endsOthers?: () => boolean;
  /** Reads rows and budgets. */
  readonly reader: () => Gateway;
  /** Resolves when what {@link gateways} returns serves. */
  readonly how: () => Promise<void>;
}

/** Does it, and checks every row, the budget and the slots. What the clients noticed. */
export async function loseProcess(loss: ProcessLoss) {
  const {
    fault,
    upstream,
    pausedMs,
    longerMs = LONGER_MS,
    gateways,
    lost,
    ends,
    hasEnded,
    losesCell,
    endsOthers,
    reader,
    how,
  } = loss;
  const before = gateways();
  const chunks = ((pausedMs ?? longerMs) + longerMs) / PACE_MS;
  const few = await reader().mint(upstream.url, `chunks=${chunks},pace=${PACE_MS}`, { max_in_flight: SLOTS });
  const other = await reader().mint(upstream.url, "delay=20");
  const many = { ...few, model: other.model, mark: other.mark };
  const caps = { budget_tokens: 10_000_000, budget_cost_usd: 100_000 };
  await reader().must("PATCH", `/tenants/${few.tenant.id}/budget`, caps);
  const calls = new AccountedCalls();
  const through = (place: number): Gateway => before[place % before.length] as Gateway;
  const each = (send: (gateway: Gateway) => Promise<AccountedCall>): readonly Promise<AccountedCall>[] =>
    Array.from({ length: SLOTS }, async (_, place) => await send(through(place)));

  const early = startClients(calls, before, many);
  await early.enough();
  const ended: number[] = [];
  const streams = each(async (gateway) => {
    const call = await calls.send(gateway, few, { stream: true });
    ended.push(call.status);
    return call;
  });
  await waitFor(
    () => ({ ended, streaming: upstream.seen(few.mark).filter(({ chunksWritten }) => chunksWritten > 5).length }),
    ({ streaming }) => streaming === SLOTS,
  );
  const waiters = each(async (gateway) => await calls.send(gateway, few));
  await waitFor(
    // the Cell may be moving to another owner
    async () =>
      await reader()
        .loadOf(few.model.model_name)
        .catch(() => null),
    (load) => load?.inFlight === SLOTS && load.queued === SLOTS,
  );
  const [lostAtMs, hadEnded] = [Date.now(), hasEnded?.() === true];
  await how();
  const late = startClients(calls, gateways(), many);
  await late.enough();
  await Promise.all([early.stop(), late.stop()]);
  const further = await Promise.all(gateways().map(async (gateway) => await calls.send(gateway, few)));
  const [streamed, waited] = [await Promise.all(streams), await Promise.all(waiters)];
  await waitFor(
    // the Cell may be moving to another owner
    async () =>
      await reader()
        .stats()
        .catch(() => null),
    (stats) => stats?.in_flight === 0 && stats.queued === 0,
  );

  const isOwn = ({ gateway }: AccountedCall): boolean => lost.includes(gateway);
  const servedAtMs = first([...waited, ...further].filter(({ isWhole }) => isWhole));
  // The Cell knew of them when the process was lost.
  const known = new Set([...streamed, ...waited]);
  const mayBeLost = (call: AccountedCall): boolean => {
    if (endsOthers?.() !== true && (!ends() || !isOwn(call))) return false;
    if (call.isWhole) return hadEnded || call.untilMs > lostAtMs - PROMISED_AFTER_MS;
    return losesCell || !isOwn(call) || !known.has(call);
  };
  const clients = early.count + 2 * SLOTS;
  await calls.account(few, { fault, gateway: reader(), clients, mayBeLost, servedAfterMs: servedAtMs - lostAtMs });
  // A call that is cut off gives its slot back in the same moment, which the upstream may see later.
  const cutOff = upstream.seen(few.mark).filter((call) => call.cutOff).length;
  expect(upstream.peak(few.mark) - cutOff).toBeLessThanOrEqual(SLOTS);
  const notWhole = calls.ended.filter(({ isWhole }) => !isWhole);
  return {
    /** The statuses of calls through other processes that had no whole answer; 0: none at all. */
    others: notWhole.filter((call) => !isOwn(call)).map(({ status }) => status),
    own: notWhole.filter(isOwn).map(({ status }) => status),
    /** A call that waited was served before any stream through another process had ended, so with a slot of the lost one. */
    hasSlotBack: first(waited.filter(({ isWhole }) => isWhole)) < first(streamed.filter((call) => !isOwn(call))),
  };
}

/** When the first of them had ended; Infinity: there is none. */
const first = (calls: readonly AccountedCall[]): number => Math.min(...calls.map(({ untilMs }) => untilMs));

/** Clients through each of these that send one call after another, until one gets no answer. */
function startClients(calls: AccountedCalls, gateways: readonly Gateway[], minted: Minted) {
  let [isStopped, answers] = [false, 0];
  // a failed test must not leave calls to the next one
  onTestFinished(() => {
    isStopped = true;
  });
  const client = async (gateway: Gateway, place: number): Promise<void> => {
    for (let call = place; !isStopped; call += 1) {
      const { status } = await calls.send(gateway, minted, { stream: call % 2 === 0 });
      if (status === 0) return;
      answers += 1;
    }
  };
  const running = gateways.flatMap((gateway) =>
    Array.from({ length: CLIENTS / gateways.length }, async (_, place) => await client(gateway, place)),
  );
  return {
    count: running.length,
    enough: async () => {
      await waitFor(
        () => answers,
        (count) => count >= ENOUGH * running.length,
      );
    },
    stop: async () => {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

/** Stops a process where it is, for a time. */
export async function pauseFor(ms: number, signal: (name: "SIGSTOP" | "SIGCONT") => void): Promise<void> {
  signal("SIGSTOP");
  await sleep(ms);
  signal("SIGCONT");
}
