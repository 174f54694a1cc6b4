import { expect, it } from "vitest";
import { answerParts } from "./answer-texts.ts";

it("reads a list of any length in an answer, in order", () => {
  const content = Array.from({ length: 200_000 }, (_, at) => ({ type: "text", text: String(at) }));
  const { texts } = answerParts({ choices: [{ message: { content } }] });
  expect(texts).toHaveLength(content.length);
  expect([texts[0]?.text, texts.at(-1)?.text]).toEqual(["0", "199999"]);
});
