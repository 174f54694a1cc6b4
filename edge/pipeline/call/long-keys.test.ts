/**
 * Long names of others never become keys that the engine cannot hash, and examining a place counts as work
 * (docs/rules/request-bodies.md#work). Keys and units are counted, never timed.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce, type Steps } from "../../../shared/steps.ts";
import { STEP_MAX, toldBy } from "../../../test/harness/edge/told-by.ts";
import { watchedCalls } from "../../../test/harness/edge/watched-calls.ts";
import { CollectedTexts } from "../../domain/message-texts/collected-texts.ts";
import { RedactingEvents } from "../../domain/message-texts/redacting-events.ts";
import { guardedTexts } from "../../domain/message-texts/request-texts.ts";
import { RedactionTally } from "../../domain/message-texts/text-redaction.ts";
import { textScopeOf } from "../../domain/message-texts/text-scopes.ts";
import { readJsonTree } from "../../domain/prompts/json-tree.ts";
import { compactLog } from "../../domain/prompts/log-lines.ts";
import { repeatsOf } from "../../domain/prompts/repeats.ts";
import { namedObjects } from "../../domain/request/named-objects.ts";
import { routeClassOf } from "../../domain/request/route-class.ts";
import { statedOutput } from "../../domain/request/stated-output.ts";
import { steeringWithin } from "../../domain/request/steering-fields.ts";
import { mergeTools } from "../../domain/tools/merge-tools.ts";
import { decideTurn } from "../../domain/tools/turn.ts";
import { parsedInSteps, parseInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { HASHED_MAX, hashedKey } from "../../domain/wire/text/hashed-key.ts";

const KEYED = [
  [Map.prototype, "get"],
  [Map.prototype, "has"],
  [Map.prototype, "set"],
  [Set.prototype, "has"],
  [Set.prototype, "add"],
] as const;

/** The longest text that a Map or a Set gets as a key meanwhile. */
function longestKey(work: () => unknown): number {
  let longest = 0;
  const seen = (_: unknown, key: unknown): void => {
    if (typeof key === "string" && key.length > longest) longest = key.length;
  };
  watchedCalls(KEYED, seen, work);
  return longest;
}

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
/** The value below names that are as long, and as long when they are escaped, as they can be. */
function below(depth: number, inner: unknown, letter: string): unknown {
  let value = inner;
  for (let at = 0; at < depth; at += 1) value = { [`${letter.repeat(1_000)}${at}`]: value };
  return value;
}
const LONG = "n".repeat(HASHED_MAX);
/** Texts of one length that differ. */
const texts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${LONG}${String(at).padStart(6, "0")}`);
const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const guarded = (path: string, body: object) =>
  guardedTexts([bytesOf(body)], textScopeOf(path, routeClassOf(path)), true);
const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["falcon"] });
const eventOf = (value: unknown) => new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`);

function* collecting(...answers: readonly unknown[]): Steps<void> {
  const collected = new CollectedTexts();
  for (const answer of answers) yield* collected.event(eventOf(answer));
  yield* collected.document(JSON.stringify(answers[0]));
  yield* collected.texts();
}

const COUNT = 200;
const PLACES = 500;
const EVENTS = 8;
const DEPTH = 55;
/** Looking at a place is at least so much work, in units; its path is not looked at again. */
const PLACE_UNITS = 24;
type Reader = (under: (inner: unknown) => unknown) => Steps<unknown>;

const many = <T>(value: T): readonly T[] => Array<T>(PLACES).fill(value);
const answerUnder = (under: Parameters<Reader>[0]) => ({ type: "x.delta", item_id: LONG, delta: under({ text: "a" }) });
/** Readers of documents with many places below long names. */
const deep: Readonly<Record<string, Reader>> = {
  "ids in input": (under) => namedObjects([bytesOf({ input: under(many({ id: "x", type: "message" })) })], 4_000),
  urls: (under) => namedObjects([bytesOf({ zz: under(many({ url: "x" })) })], 4_000),
  "a part of a message": (under) =>
    guarded(CHAT, { messages: [{ role: "user", content: [{ type: "text", x: under(many("a b")) }] }] }),
  "a thought": (under) =>
    guarded(CHAT, {
      messages: [{ role: "assistant", content: under(many({ thinking: "a", signature: "b" })) }],
    }),
  "parameters of a tool": (under) =>
    guarded(CHAT, { tools: [{ type: "function", function: { parameters: under(many("a b")) } }] }),
  "an unknown path": (under) => guarded("/v2/generate", { prompt: under(many("a b")) }),
  "an item": (under) => guarded(RESPONSES, { input: [{ type: "function_call", arguments: under(many("a b")) }] }),
  "texts of an answer": (under) => collecting(...Array<unknown>(EVENTS).fill(answerUnder(under))),
  "a redacted answer": function* (under) {
    const events = new RedactingEvents(scan, new RedactionTally());
    for (let at = 0; at < EVENTS; at += 1) yield* events.event(eventOf(answerUnder(under)));
  },
};

describe.each([
  ["names", "n"],
  ["names that JSON escapes", "\u0001"],
])("places below long %s", (_, letter) => {
  it.each(Object.entries(deep))("have keys that the engine hashes, and count as work: %s", (kind, read) => {
    const work = read((inner) => below(DEPTH, inner, letter));
    let told = { largest: 0, units: 0 };
    const longest = longestKey(() => (told = toldBy(work)));
    const { largest, units } = told;
    const places = kind.includes("answer") ? EVENTS : PLACES;
    expect({
      longest,
      isHashed: longest <= HASHED_MAX,
      units,
      isTold: units >= places * PLACE_UNITS,
      isBounded: largest <= 2 * STEP_MAX,
    }).toEqual({ longest, isHashed: true, units, isTold: true, isBounded: true });
  });
});

it("a string counts for more of those that are looked at, the more it takes to keep its place", () => {
  const isWhole = (depth: number) =>
    atOnce(guarded(CHAT, { messages: [{ content: below(depth, Array(90_000).fill("a b"), "") }] })).isWhole;
  expect({ low: isWhole(8), deep: isWhole(60) }).toEqual({ low: true, deep: false });
});

describe("texts that are longer than the engine hashes", () => {
  it("have different keys, also where a part of one ends in the middle of a character", () => {
    const start = "n".repeat(HASHED_MAX - 1);
    const different = [`${start}😀`, `${start}😁`, `${start}nn`, `${start}nn${start}`, `${start}n`];
    const keys = different.map((text) => atOnce(hashedKey(text)));
    expect({ keys: new Set(keys).size, longest: Math.max(...keys.map(({ length }) => length)) }).toEqual({
      keys: different.length,
      longest: HASHED_MAX,
    });
  });

  const call = (id: string) => ({ id, type: "function", function: { name: "own", arguments: "{}" } });
  const readers: Readonly<Record<string, () => unknown>> = {
    "ids of a model's calls": () =>
      atOnce(
        decideTurn(
          { message: {}, toolCalls: texts(COUNT).map(call), finishReason: "tool_calls" },
          { has: () => true },
          { turn: 1, mayRun: true },
        ),
      ),
    "names of tools": () =>
      mergeTools(
        texts(COUNT).map((name) => ({ type: "function", function: { name } })),
        [],
      ),
    "repeated texts": () => atOnce(repeatsOf(texts(COUNT), [], { minTokens: 8, maxRepeats: 64 })),
    "lines of a log": () =>
      atOnce(
        compactLog(
          "abcde"
            .split("")
            .map((end) => "-".repeat(HASHED_MAX) + end)
            .join("\n"),
        ),
      ),
    "names in a text of JSON": () =>
      atOnce(readJsonTree(JSON.stringify(Object.fromEntries(texts(10).map((text) => [text, 1]))))),
  };

  it.each(Object.entries(readers))("are no keys: %s", (_, work) => {
    const longest = longestKey(work);
    expect({ longest, isHashed: longest <= HASHED_MAX }).toEqual({ longest, isHashed: true });
  });

  it("are kept as known texts of an answer up to a few", () => {
    let kept = 0;
    const parts = texts(COUNT).map((note) => ({ note }));
    const seen = (_: unknown, text: unknown): void => {
      if (typeof text === "string" && text.length > HASHED_MAX) kept += 1;
    };
    watchedCalls([[Set.prototype, "add"]], seen, () => atOnce(collecting({ type: "x.completed", parts })));
    expect({ isKept: kept > 0, few: kept <= 16 }).toEqual({ isKept: true, few: true });
  });

  it("are no names of a long document", () => {
    const documentOf = (length: number) =>
      new TextEncoder().encode(`{${[0, 1, 2].map((at) => `"${"n".repeat(length - 1)}${at}" : 1`).join()}}`);
    const namesOf = (length: number) => Object.keys(atOnce(parseInSteps(documentOf(length))) as object).length;
    expect(namesOf(HASHED_MAX - 2)).toBe(3);
    expect(() => namesOf(HASHED_MAX + 1)).toThrow(SyntaxError);
    const values = JSON.stringify([LONG, LONG, `${LONG}${LONG}`]);
    expect(atOnce(parsedInSteps(values))).toEqual(JSON.parse(values));
  });
});

it("the name of a field is looked at as far as it can mean something", () => {
  const replaced: number[] = [];
  const name = "x_ -".repeat(60_000);
  watchedCalls(
    [[String.prototype, "replaceAll"]],
    (of) => replaced.push(String(of).length),
    () => atOnce(steeringWithin(name, bytesOf({ models: 1 }), (inner) => inner, new Set())),
  );
  expect({ longest: Math.max(...replaced), calls: replaced.length > 0 }).toEqual({ longest: 256, calls: true });
});

it("the elements of a list of settings get no names, which would be made all at once", () => {
  let named = 0;
  const parameters = [...Array(50_000).fill(1), { max_tokens: 7 }];
  let stated: unknown;
  watchedCalls(
    [
      [Object, "entries"],
      [Object, "keys"],
    ],
    (_, first) => (named += Array.isArray(first) ? 1 : 0),
    () => (stated = atOnce(statedOutput({ parameters }))),
  );
  expect({ named, stated }).toEqual({ named: 0, stated: { limitTokens: 7, isOpen: true, answers: 1 } });
});
