/**
 * The images of a chat request, and the descriptions that take their places (docs/rules/boons.md#vision). An image is its URL
 * to the gateway: it is never fetched here, and a data URL is passed on unchanged.
 */
import type { Steps } from "../../../shared/steps.ts";
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";

/** Longest description, in UTF-16 units: it takes the place of an image in somebody's prompt. */
const DESCRIPTION_MAX_CHARS = 8000;

/** Work for a message, and for a part of one, in units. */
const PART_UNITS = 8;

const DETAILS: readonly unknown[] = ["low", "high", "auto"];

/** An image part of a message. */
export interface ImagePart {
  /** Where it is: the message's position, and the part's in its content. */
  readonly message: number;
  readonly part: number;
  /** The image as a chat request has it; null: the part names none. */
  readonly image: { readonly url: string; readonly detail?: string } | null;
}

/** Every image part of the messages, in order. */
export function* imagePartsOf(messages: unknown): Steps<readonly ImagePart[]> {
  const images: ImagePart[] = [];
  for (const [at, message] of (Array.isArray(messages) ? (messages as readonly unknown[]) : []).entries()) {
    yield PART_UNITS;
    const content = jsonObjectOf(message)?.["content"];
    for (const [part, entry] of (Array.isArray(content) ? (content as readonly unknown[]) : []).entries()) {
      yield PART_UNITS;
      const given = jsonObjectOf(entry);
      if (given?.["type"] === "image_url" || given?.["type"] === "input_image")
        images.push({ message: at, part, image: imageOf(given) });
    }
  }
  return images;
}

/** Both spellings of an image: `image_url` is the URL, or an object with it. */
function imageOf(part: JsonObject): ImagePart["image"] {
  const given = part["image_url"];
  const object = jsonObjectOf(given);
  const url = object === null ? given : object["url"];
  if (typeof url !== "string" || url === "") return null;
  const detail = object === null ? part["detail"] : object["detail"];
  return DETAILS.includes(detail) ? { url, detail: String(detail) } : { url };
}

/** The chat completion that asks a model for a description. */
export function describeRequest(image: NonNullable<ImagePart["image"]>, prompt: string): JsonObject {
  const content = [
    { type: "text", text: prompt },
    { type: "image_url", image_url: image },
  ];
  return { messages: [{ role: "user", content }], temperature: 0.2 };
}

/** The description in an answer to {@link describeRequest}; null if there is none. */
export function descriptionIn(completion: unknown): string | null {
  const choices: unknown = jsonObjectOf(completion)?.["choices"];
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const content = jsonObjectOf(jsonObjectOf(first)?.["message"])?.["content"];
  const text = typeof content === "string" ? content.trim() : "";
  return text === "" ? null : text.slice(0, DESCRIPTION_MAX_CHARS).toWellFormed();
}

/** The messages with these images replaced by texts; everything else is as it was. `messages` is not changed. */
export function withDescriptions(
  messages: readonly unknown[],
  described: readonly { readonly at: ImagePart; readonly description: string }[],
): readonly unknown[] {
  const contents = new Map<number, unknown[]>();
  for (const { at, description } of described) {
    const given = jsonObjectOf(messages[at.message])?.["content"];
    const content = contents.get(at.message) ?? (Array.isArray(given) ? [...given] : []);
    content[at.part] = { type: "text", text: `[Image description: ${description}]` };
    contents.set(at.message, content);
  }
  return messages.map((message, at) =>
    contents.has(at) ? { ...jsonObjectOf(message), content: contents.get(at) } : message,
  );
}
