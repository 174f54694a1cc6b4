/**
 * The result of a tool as the text that a model reads (docs/rules/tool-loop.md#results). Content that is not text is described,
 * errors start with `error: `, and everything is cut to 16,000 characters.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";

/** Longest text, in code points. */
const RESULT_MAX_CHARACTERS = LIMITS.toolText;
/** No code point has more UTF-16 units than two. */
const RESULT_MAX_UNITS = 2 * RESULT_MAX_CHARACTERS;
/** Longest name, type or address in a description. */
const LABEL_MAX_CHARACTERS = 200;
const NOTHING = "(no content)";

/** The text of a result of `tools/call`. */
export function* resultText(result: JsonObject): Steps<string> {
  const { content, structuredContent, isError } = result;
  const parts: string[] = [];
  let units = 0;
  for (const block of Array.isArray(content) ? (content as readonly unknown[]) : []) {
    const text = blockText(block);
    parts.push(text);
    units += text.length + 1;
    if (units > RESULT_MAX_UNITS) break;
  }
  const text =
    parts.length === 0 && isJsonObject(structuredContent) ? yield* jsonText(structuredContent) : parts.join("\n");
  return isError === true
    ? errorText(text === "" ? "the tool has failed" : text)
    : cutResult(text === "" ? NOTHING : text);
}

/** The text that a model reads instead of a result. */
export function errorText(reason: string): string {
  return cutResult(`error: ${reason}`);
}

/** At most 16,000 characters, and never half of one. */
export function cutResult(text: string): string {
  if (text.length <= RESULT_MAX_CHARACTERS) return text.toWellFormed();
  let units = 0;
  for (let count = 0; count < RESULT_MAX_CHARACTERS && units < text.length; count += 1)
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, units).toWellFormed();
}

function blockText(block: unknown): string {
  if (!isJsonObject(block)) return "[content of an unknown kind]";
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? block["text"] : "";
    case "image":
    case "audio":
      return described(block["type"], [block["mimeType"]], block["data"]);
    case "resource_link":
      return described("resource link", [block["uri"], block["mimeType"]]);
    case "resource": {
      const resource = isJsonObject(block["resource"]) ? block["resource"] : {};
      if (typeof resource["text"] === "string") return resource["text"];
      return described("resource", [resource["uri"], resource["mimeType"]], resource["blob"]);
    }
    default:
      return "[content of an unknown kind]";
  }
}

/** `data` is base64. */
function described(kind: string, labels: readonly unknown[], data?: unknown): string {
  const words = labels.flatMap((label) => (typeof label === "string" ? label.slice(0, LABEL_MAX_CHARACTERS) : []));
  const size = typeof data === "string" ? [`${Math.floor((data.length * 3) / 4)} bytes`] : [];
  return `[${[kind, ...words, ...size].join(", ")}]`;
}

function* jsonText(value: JsonObject): Steps<string> {
  return yield* jsonInSteps(value);
}
