/** Which objects of an upstream a body names; test/spec/stored-answers.test.ts has the fields one by one. */
import { expect, it } from "vitest";
import { wholeDocument } from "../wire/json/document.ts";
import { namedObjects } from "./named-objects.ts";

it("are found in any depth and number, in pieces of bounded work", () => {
  let nested: Record<string, unknown> = { file_id: "deep" };
  for (let depth = 0; depth < 5_000; depth += 1) nested = { a: [nested] };
  const content = Array.from({ length: 100_000 }, (_, at) => ({ text: `${at}` }));
  const reading = namedObjects(wholeDocument({ nested, content, file_ids: ["a", "b", 7, null, "a"] }));
  let pieces = 1;
  let read = reading.next();
  for (; read.done !== true; read = reading.next()) pieces += 1;
  expect([...read.value.keys()].toSorted()).toEqual(["a", "b", "deep"]);
  expect(pieces).toBeGreaterThan(15);
});
