import { beforeEach, describe, expect, it } from "vitest";
import type { RevItem } from "../../../../shared/wire/internal.ts";
import { knowing, TestPipeline } from "../../../../test/harness/edge/pipeline/world.ts";
import { RunningCallers } from "./running-callers.ts";

const key = (id: string, rev: number): RevItem => ({ kind: "key", id, rev });
const tenant = (rev: number): RevItem => ({ kind: "tenant", id: "t", rev });

let world: TestPipeline;
let callers: RunningCallers;
/** The questions to the Cell. */
let asked: (readonly RevItem[])[];
let answer: TestPipeline["stale"];

beforeEach(() => {
  world = new TestPipeline();
  callers = new RunningCallers();
  asked = [];
  answer = () => [];
  world.stale = (items) => {
    asked.push(items);
    return answer(items);
  };
});

const running = (...revs: RevItem[]) => {
  const caller = { revs, isOld: false, failedMs: Number.NEGATIVE_INFINITY };
  callers.add(caller);
  return caller;
};

const ask = async (by = running()) => await callers.ask(by, world.received().ports);

describe("the question of an isolate", () => {
  it("names each record once, in its oldest revision, and finds the calls that have an older one", async () => {
    const [first, second, third] = [
      running(key("a", 1), tenant(5)),
      running(key("b", 2), tenant(3)),
      running(tenant(6)),
    ];
    const left = running(key("left", 1));
    callers.delete(left);
    answer = knowing(tenant(6));
    await ask();
    expect(asked).toEqual([[key("a", 1), tenant(3), key("b", 2)]]);
    expect([first.isOld, second.isOld, third.isOld]).toEqual([true, true, false]);
  });

  it("is put once for all calls that look within 1.5 s, also when the clock is set back", async () => {
    running(key("a", 1));
    await Promise.all([ask(), ask()]);
    world.nowMs += 1_499;
    await ask();
    expect(asked).toHaveLength(1);
    world.nowMs += 1;
    await ask();
    world.nowMs -= 60_000;
    await ask();
    expect(asked).toHaveLength(3);
  });

  it("is put again after one that got no answer, at first by another call", async () => {
    const [first, second] = [running(key("a", 1)), running(key("b", 1))];
    answer = () => {
      throw new Error("away");
    };
    await ask(first);
    answer = knowing(key("b", 2));
    world.nowMs += 1_500;
    await ask(first);
    expect({ asked: asked.length, isOld: second.isOld }).toEqual({ asked: 1, isOld: false });
    await ask(second);
    expect({ asked: asked.length, isOld: second.isOld }).toEqual({ asked: 2, isOld: true });
    world.nowMs += 8_500;
    await ask(first);
    expect(asked).toHaveLength(3);
  });
});
