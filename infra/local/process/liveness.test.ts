import { createServer } from "node:http";
import net, { type AddressInfo } from "node:net";
import fc from "fast-check";
import { expect, it } from "vitest";
import { askHealth } from "./ask-health.ts";
import {
  ANALYTICS_LIVENESS,
  type Clock,
  CONTROL_LIVENESS,
  type HealthAnswer,
  type LivenessPolicy,
  RUNTIME_LIVENESS,
  waitUntilUnresponsive,
} from "./liveness.ts";

/** One check: its result, and how long it took, in milliseconds. */
interface Check {
  readonly answer: HealthAnswer;
  readonly tookMs: number;
}

const policy: LivenessPolicy = { graceMs: 10_000, everyMs: 2_000, answerWithinMs: 5_000, checks: 4 };

/** Runs checks on a simulated clock, then stops. Returns the findings, their times, and the number of checks. */
async function play(checks: readonly Check[], rules: LivenessPolicy = policy) {
  let nowMs = 0;
  let made = 0;
  const stopped = new AbortController();
  const time: Clock = {
    nowMs: () => nowMs,
    pause: async (ms) => {
      nowMs += ms;
    },
  };
  const check = async (): Promise<HealthAnswer> => {
    const next = checks[made];
    made += 1;
    if (made >= checks.length) stopped.abort();
    nowMs += next?.tookMs ?? 0;
    return next?.answer ?? "answered";
  };
  const silentMs = await waitUntilUnresponsive(check, rules, stopped.signal, time);
  return { silentMs, made, nowMs };
}

const silent: Check = { answer: "silent", tookMs: 5_000 };
const refused: Check = { answer: "silent", tookMs: 0 };
const answered: Check = { answer: "answered", tookMs: 3 };
const more: readonly Check[] = Array.from({ length: 5 }, () => answered);

it("reports a process as hung, with the time, after enough unanswered checks in a row", async () => {
  expect(await play([answered, silent, silent, silent, silent, ...more])).toMatchObject({ silentMs: 26_000, made: 5 });
  expect(await play([refused, refused, refused, refused, ...more])).toMatchObject({ silentMs: 6_000, made: 4 });
});

it("does not report a process that answers in the end, or one whose check failed here", async () => {
  for (const checks of [
    [silent, silent, silent, answered, silent, silent, silent],
    [silent, silent, silent, { answer: "unknown", tookMs: 0 } as const, answered, silent],
    [answered, answered],
  ])
    expect((await play([...checks, answered])).silentMs).toBeNull();
});

it("makes no check while the process may still warm up", async () => {
  expect((await play([answered])).nowMs).toBe(policy.graceMs + answered.tookMs);
});

it("does not count a check whose deadline fired too late in this process", async () => {
  const stalled: Check = { answer: "silent", tookMs: 60_000 };
  expect((await play([...Array.from({ length: 20 }, () => stalled), answered])).silentMs).toBeNull();
});

it("is right for any sequence of checks", async () => {
  const check = fc.record({
    answer: fc.constantFrom<HealthAnswer>("answered", "silent", "silent", "silent", "unknown"),
    tookMs: fc.integer({ min: 0, max: 20_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(check, { minLength: 1 }), fc.integer({ min: 1, max: 5 }), async (checks, count) => {
      const counted = checks.slice(0, -1).filter(({ answer, tookMs }) => {
        if (answer === "answered") return true;
        return answer === "silent" && tookMs <= 6_000;
      });
      const text = counted.map(({ answer }) => (answer === "silent" ? "s" : "a")).join("");
      const { silentMs } = await play(checks, { ...policy, checks: count });
      expect(silentMs !== null).toBe(text.includes("s".repeat(count)));
    }),
  );
});

it("allows many times each part's longest healthy pause", () => {
  const silenceMs = ({ checks, answerWithinMs, everyMs }: LivenessPolicy) =>
    checks * answerWithinMs + (checks - 1) * everyMs;
  expect([RUNTIME_LIVENESS, CONTROL_LIVENESS, ANALYTICS_LIVENESS].map(silenceMs)).toEqual([26_000, 54_000, 82_000]);
});

it("counts an answer of any status, and neither silence nor a refused connection", async () => {
  const failing = createServer((_request, response) => response.writeHead(500).end());
  const mute = net.createServer(() => undefined);
  const urlOf = async (server: net.Server): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/health`;
  };
  const [failingUrl, muteUrl] = [await urlOf(failing), await urlOf(mute)];
  expect(await askHealth(failingUrl, 60_000)).toBe("answered");
  expect(await askHealth(muteUrl, 20)).toBe("silent");
  failing.close();
  mute.close();
  await new Promise<void>((resolve) => failing.once("close", resolve));
  expect(await askHealth(failingUrl, 60_000)).toBe("silent");
});
