/** Members that no model reads, however long they are (docs/rules/guardrails.md#what-is-not-scanned). */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { STEP_MAX, toldBy } from "../../../test/harness/edge/told-by.ts";
import { routeClassOf } from "../request/route-class.ts";
import { guardedTexts } from "./request-texts.ts";
import { textScopeOf } from "./text-scopes.ts";

const CHAT = "/v1/chat/completions";
const LONG = 12 * 1024 * 1024;
/** As a body arrives. */
const PIECE = 64 * 1024;

const read = (part: object) => {
  const body = JSON.stringify({ messages: [{ role: "user", content: [part] }] });
  const bytes = new TextEncoder().encode(body);
  const pieces = Array.from({ length: Math.ceil(bytes.byteLength / PIECE) }, (_, at) =>
    bytes.subarray(at * PIECE, (at + 1) * PIECE),
  );
  return guardedTexts(pieces, textScopeOf(CHAT, routeClassOf(CHAT)), false);
};
const lengthsOf = (part: object) => atOnce(read(part)).others.map(({ text }) => text.length);
const sound = (data: string) => ({ type: "input_audio", input_audio: { data } });

describe("a part of a message", () => {
  it.each<[string, object, readonly number[]]>([
    ["sound in base64 is not examined", sound("A".repeat(LONG)), []],
    ["nor in a data URL", sound(`data:audio/wav;base64,${"A".repeat(LONG)}`), []],
    ["what only begins as base64 is examined", sound(`${"A".repeat(LONG)} `), [LONG + 1]],
    ["short data is examined", sound("A".repeat(255)), [255]],
    ["a type of joined words is not", { type: "made_up_type" }, []],
    ["a type without end is", { type: "a_".repeat(LONG / 2) }, [LONG]],
    ["a name of joined words is not", { made_up_name: 1 }, []],
    ["a name without end is", { ["a_".repeat(400)]: 1 }, [800]],
  ])("%s", (_, part, expected) => {
    expect(lengthsOf(part)).toEqual(expected);
  });

  it("tells how far it is in bytes", () => {
    const { largest, units } = toldBy(read(sound("A".repeat(LONG))));
    expect({ isBounded: largest <= STEP_MAX, isTold: units >= LONG / 4 }).toEqual({ isBounded: true, isTold: true });
  });
});
