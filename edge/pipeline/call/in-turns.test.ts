/**
 * Work in turns, and that no reader of a body does much between two of its steps (docs/rules/request-bodies.md#work).
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { scanTopLevel } from "../../../shared/wire/json-top-level.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import {
  BYTES_PER_UNIT,
  element,
  fragment,
  LENGTH,
  manyOf,
  STEP_MAX,
  toldBy,
} from "../../../test/harness/edge/told-by.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { guardedTexts } from "../../domain/message-texts/request-texts.ts";
import { textScopeOf } from "../../domain/message-texts/text-scopes.ts";
import { namedObjects } from "../../domain/request/named-objects.ts";
import { routeClassOf } from "../../domain/request/route-class.ts";
import { estimateTokens } from "../../domain/request/token-estimate.ts";
import { cutLongStrings } from "../../domain/wire/json/cut-strings.ts";
import { wholeDocument } from "../../domain/wire/json/document.ts";
import { parseInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { weightOfJson } from "../../domain/wire/json/weight.ts";
import { ClientGone } from "./client-gone.ts";
import type { Call } from "./context.ts";
import { inTurns } from "./in-turns.ts";
import { Turns } from "./memory/turns.ts";

const scan = compileScan({ scanners: ["prompt_injection", "pii", "ban_keywords"], banKeywords: ["a b", "falcon"] });
const readersOfText: Readonly<Record<string, (text: string) => Steps<unknown>>> = {
  scan: (text) => scan.scanning([{ text, user: true }], { units: Number.POSITIVE_INFINITY }),
  "scan of many texts": (text) =>
    scan.scanning(
      (text.match(/.{1,7}/gsu) ?? []).map((one) => ({ text: one, user: true })),
      { units: Number.POSITIVE_INFINITY },
    ),
  redact: (text) => scan.redacting([{ text, user: true }], { units: Number.POSITIVE_INFINITY }),
  estimate: (text) =>
    estimateTokens(
      "messages",
      wholeDocument({ messages: (text.match(/.{1,900}/gs) ?? []).map((content) => ({ content })) }),
    ),
};
const CHAT = "/v1/chat/completions";
const readersOfJson: Readonly<Record<string, (bytes: Uint8Array) => Steps<unknown>>> = {
  cut: (bytes) => cutLongStrings([bytes], "mark:"),
  weigh: (bytes) => weightOfJson(bytes, Number.POSITIVE_INFINITY),
  parse: (bytes) => parseInSteps(bytes),
  "top level": (bytes) => scanTopLevel(bytes, () => false),
  places: (bytes) => guardedTexts([bytes], textScopeOf(CHAT, routeClassOf(CHAT)), true),
  "named objects": (bytes) => namedObjects([bytes], 4_000),
};

describe("a reader of bodies", () => {
  it.each(Object.entries(readersOfText))("tells how far it is, whatever the text: %s", (_, read) => {
    fc.assert(
      fc.property(fragment, (unit) => {
        const text = unit.repeat(LENGTH / 4 / unit.length);
        const { largest, units } = toldBy(read(text));
        expect({
          unit,
          largest,
          isBounded: largest <= STEP_MAX,
          isTold: units >= text.length / BYTES_PER_UNIT,
        }).toEqual({
          unit,
          largest,
          isBounded: true,
          isTold: true,
        });
      }),
      { numRuns: propertyRuns(25) },
    );
  });

  it.each(Object.entries(readersOfJson))("tells how far it is, whatever the JSON: %s", (_, read) => {
    fc.assert(
      fc.property(
        element,
        fc.constantFrom("messages", "metadata", "prompt", "input"),
        fc.boolean(),
        (one, name, named) => {
          const bytes = new TextEncoder().encode(manyOf(one, name, named));
          const { largest, units } = toldBy(read(bytes));
          const told = {
            one,
            largest,
            isBounded: largest <= STEP_MAX,
            isTold: units >= bytes.byteLength / BYTES_PER_UNIT,
          };
          expect(told).toEqual({ one, largest, isBounded: true, isTold: true });
        },
      ),
      { numRuns: propertyRuns(25) },
    );
  });

  it.each<[string, number, (count: number) => readonly unknown[]]>([
    ["numbers", 3_000_000, (count) => Array.from({ length: count }, () => 1)],
    ["empty messages", 600_000, (count) => Array.from({ length: count }, () => ({}))],
    ["messages", 300_000, (count) => Array.from({ length: count }, () => ({ content: ["a"] }))],
  ])("tells how far it is in a list of %s", (_, count, listOf) => {
    const list = listOf(count);
    for (const [rule, name] of [
      ["messages", "messages"],
      ["responses", "input"],
    ] as const) {
      const { largest, units } = toldBy(estimateTokens(rule, wholeDocument({ [name]: list })));
      expect({ rule, isBounded: largest <= STEP_MAX, isTold: units >= 10 * count }).toEqual({
        rule,
        isBounded: true,
        isTold: true,
      });
    }
  });

  it.each([
    ["3 million numbers", 1_499_000, `[${"1,".repeat(2_999_999)}1]`],
    ["600,000 names", 12_000_000, `{${Array.from({ length: 600_000 }, (_, at) => `"${at}":1`).join(",")}}`],
    ["600,000 objects", 4_800_000, `[${"{},".repeat(599_999)}{}]`],
  ])("looks for names of objects in %s in steps", (_, least, value) => {
    const { largest, units } = toldBy(namedObjects([new TextEncoder().encode(`{"x":${value}}`)], 4_000));
    expect({ isBounded: largest <= STEP_MAX, isTold: units >= least }).toEqual({ isBounded: true, isTold: true });
  });

  it.each([
    ["white space", `{"a":1${" ".repeat(300_000)}}`],
    ["a number", `{"a":${"1".repeat(300_000)}}`],
    ["depth", `{"a":${"[".repeat(150_000)}${"]".repeat(150_000)}}`],
  ])("refuses a document of %s without an end", (_, text) => {
    expect(() => {
      const work = parseInSteps(new TextEncoder().encode(text));
      for (let step = work.next(); step.done !== true; step = work.next());
    }).toThrow(SyntaxError);
  });
});

function* stepsOf(count: number): Steps<number> {
  for (let at = 0; at < count; at += 1) yield 1024;
  return count;
}

function callOf(world: TestPipeline, signal = new AbortController().signal): Call {
  return {
    ports: world.received().ports,
    memory: world.memory,
    request: new Request("https://gateway.test/", { signal }),
    interruption: world.memory.interruption,
  } as unknown as Call;
}

describe("work in turns", () => {
  it("lets others have their turn after a number of units, and does all of it", async () => {
    const world = new TestPipeline();
    expect({ done: await inTurns(callOf(world), stepsOf(128)), waits: world.waits }).toEqual({
      done: 128,
      waits: [0, 0, 0, 0],
    });
  });

  it("ends when the client leaves", async () => {
    const world = new TestPipeline();
    const gone = new AbortController();
    world.sleep = async () => gone.abort();
    await expect(inTurns(callOf(world, gone.signal), stepsOf(128))).rejects.toThrow(ClientGone);
    expect(world.memory.turns.unitsOf({})).toBe(new Turns().unitsOf({}));
  });

  it("has shorter turns the more calls work, until they end or are forgotten", () => {
    const turns = new Turns();
    const alone = turns.unitsOf({});
    const works = Array.from({ length: 3 }, () => ({}));
    for (const work of works) turns.had(work, {}, 1, 1_000);
    const shared = { own: turns.unitsOf(works[1] ?? {}), next: turns.unitsOf({}) };
    turns.end(works[0] ?? {});
    turns.had({}, {}, 1, 20_000);
    expect({ shared, forgotten: turns.unitsOf({}) }).toEqual({
      shared: { own: alone / 3, next: alone / 4 },
      forgotten: alone / 2,
    });
  });
});

describe("long work", () => {
  const LONG = 3_000;
  /**
   * Calls of these tenants that start one after the other, with work of so many steps: the progress of each when the first was
   * done.
   */
  async function doneWithFirst(tenants: readonly string[], count: number): Promise<readonly number[]> {
    const world = new TestPipeline();
    const done = tenants.map(() => 0);
    const counted = function* (nth: number): Steps<void> {
      for (let at = 0; at < count; at += 1) {
        done[nth] = at;
        yield 1024;
      }
    };
    const [first] = tenants.map(async (tenant, nth) => {
      const call = callOf(world);
      world.memory.turns.belongs(call.request, tenant);
      await inTurns(call, counted(nth));
      return [...done];
    });
    return (await first) ?? [];
  }

  it("of one tenant is done one after the other, whatever another tenant does", async () => {
    const [, own = 0, younger = 0, others = 0] = await doneWithFirst(["a", "a", "a", "b"], LONG);
    expect({ own, younger, waited: own < LONG / 2 && younger < LONG / 2, isOthersDone: others > LONG - 100 }).toEqual({
      own,
      younger,
      waited: true,
      isOthersDone: true,
    });
  });

  it("of one tenant waits for none that is short", async () => {
    const [, own = 0] = await doneWithFirst(["a", "a"], 900);
    expect({ own, isBeside: own > 800 }).toEqual({ own, isBeside: true });
  });

  it("continues when the work before it ends, is given up, or has had no turn for long", () => {
    const turns = new Turns();
    const [works, request] = [Array.from({ length: 4 }, () => ({})), {}];
    turns.belongs(request, "a");
    const waits = (nowMs: number) => works.map((work) => turns.had(work, request, 2_000_000, nowMs) > 0);
    expect(waits(0)).toEqual([false, true, true, true]);
    turns.end(works.shift() ?? {});
    expect(waits(1)).toEqual([false, true, true]);
    works.shift();
    expect({ soon: waits(2), late: waits(5_000) }).toEqual({ soon: [true, true], late: [false, true] });
  });
});

it("a scan tells what it costs to begin, so that thousands of short texts are not one turn", () => {
  const scan = compileScan({ scanners: ["pii"], banKeywords: [] });
  const { units } = toldBy(scan.scanning([{ text: "a", user: true }], { units: 1_000 }));
  expect(units).toBeGreaterThanOrEqual(256);
});
