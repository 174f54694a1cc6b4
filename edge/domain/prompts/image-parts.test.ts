import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { describeRequest, descriptionIn, imagePartsOf, withDescriptions } from "./image-parts.ts";

const URL_A = "data:image/png;base64,AAAA";
const text = { type: "text", text: "what is this?" };
const imagesIn = (...parts: unknown[]) =>
  atOnce(imagePartsOf([{ role: "user", content: parts }])).map(({ image }) => image);

describe("the images of messages", () => {
  it.each<[string, unknown, unknown]>([
    ["an image of a chat", { type: "image_url", image_url: { url: URL_A } }, { url: URL_A }],
    ["with its detail", { type: "image_url", image_url: { url: URL_A, detail: "low" } }, { url: URL_A, detail: "low" }],
    ["with an unknown detail", { type: "image_url", image_url: { url: URL_A, detail: 7 } }, { url: URL_A }],
    ["a URL alone", { type: "image_url", image_url: "https://x.test/a.png" }, { url: "https://x.test/a.png" }],
    ["an input image", { type: "input_image", image_url: URL_A, detail: "high" }, { url: URL_A, detail: "high" }],
    ["a file", { type: "input_image", file_id: "file-1" }, null],
    ["a number", { type: "image_url", image_url: 5 }, null],
    ["an empty URL", { type: "image_url", image_url: { url: "" } }, null],
    ["an object for a URL", { type: "image_url", image_url: { url: { a: 1 } } }, null],
    ["nothing", { type: "image_url" }, null],
    ["null", { type: "image_url", image_url: null }, null],
    ["a list", { type: "input_image", image_url: [URL_A] }, null],
  ])("are read: %s", (_, part, image) => {
    expect(imagesIn(text, part)).toEqual([image]);
  });

  it("are found in every message, in order, and only in lists of parts", () => {
    const part = { type: "image_url", image_url: { url: "a" } };
    const messages = [
      { role: "system", content: "image_url" },
      { role: "user", content: [text, part, null, 5, [part], "image_url"] },
      null,
      7,
      { role: "user", content: part },
      { role: "tool", content: [part, part] },
    ];
    expect(atOnce(imagePartsOf(messages)).map(({ message, part: at }) => [message, at])).toEqual([
      [1, 1],
      [5, 0],
      [5, 1],
    ]);
    expect(atOnce(imagePartsOf({ 0: messages[1] }))).toEqual([]);
  });

  it("give way to their descriptions, and nothing else changes", () => {
    const part = fc.oneof(fc.constant({ type: "image_url", image_url: { url: "u" } }), fc.jsonValue({ maxDepth: 2 }));
    const message = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.record({ role: fc.string(), content: fc.array(part) }));
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.boolean()), (messages, chosen) => {
        const images = atOnce(imagePartsOf(messages));
        const described = images.filter((_, at) => chosen[at]).map((at) => ({ at, description: "a cat" }));
        const before = JSON.stringify(messages);
        const after = withDescriptions(messages, described);
        expect(JSON.stringify(messages)).toBe(before);
        expect(atOnce(imagePartsOf(after))).toHaveLength(images.length - described.length);
        const text = JSON.stringify({ type: "text", text: "[Image description: a cat]" });
        expect(JSON.stringify(after).split(text).length - 1).toBe(described.length);
        if (described.length === 0) expect(after).toEqual(messages);
      }),
    );
  });
});

describe("a description", () => {
  it("is asked for with the image as it came", () => {
    expect(describeRequest({ url: URL_A, detail: "low" }, "Describe.")).toEqual({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Describe." },
            { type: "image_url", image_url: { url: URL_A, detail: "low" } },
          ],
        },
      ],
      temperature: 0.2,
    });
  });

  it.each<[unknown, string | null]>([
    [{ choices: [{ message: { content: "  a cat \n" } }] }, "a cat"],
    [{ choices: [{ message: { content: "" } }] }, null],
    [{ choices: [{ message: { content: [{ text: "a" }] } }] }, null],
    [{ choices: [{ message: null }] }, null],
    [{ choices: [] }, null],
    [{ choices: { 0: 1 } }, null],
    [{}, null],
    [undefined, null],
    ["a cat", null],
  ])("is read from %j", (completion, expected) => {
    expect(descriptionIn(completion)).toBe(expected);
  });

  it("is bounded, and well-formed where it is cut", () => {
    const found = descriptionIn({ choices: [{ message: { content: `a${"😀".repeat(10_000)}` } }] });
    expect(found).toHaveLength(8000);
    expect(found?.isWellFormed()).toBe(true);
  });
});
