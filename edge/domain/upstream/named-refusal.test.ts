/** Names in a request that an error may repeat (docs/rules/streams.md#usage-event). */
import { expect, it } from "vitest";
import { namesWithin } from "./named-refusal.ts";

function namesIn(document: string): readonly string[] {
  const work = namesWithin([new TextEncoder().encode(document)], ["limit"]);
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return [...step.value];
}

it.each<[string, string, readonly string[]]>([
  ["a text of any length", `{"a":"${"x".repeat(50_000)}limit"}`, ["limit"]],
  ["a text with escapes", String.raw`{"a":["l\u0069mit"]}`, ["limit"]],
  ["a name further in", '{"a":{"limit":1}}', ["limit"]],
  ["no member of the top level", '{"limit":1,"a":"lim"}', []],
])("a name is found in %s", (_, document, found) => {
  expect(namesIn(document)).toEqual(found);
});
