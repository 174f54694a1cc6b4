/**
 * The members of an answer that are not text: the closed lists behind docs/rules/guardrails.md#what-is-not-scanned. Every other
 * string of an answer is examined.
 */
import type { Steps } from "../../../shared/steps.ts";
import { ID_CHARACTERS, isBase64, wordsOf } from "./unread-members.ts";

/** Members of the answer itself that repeat its request or describe the document; deeper members do not count. */
const OF_ANSWER = wordsOf(
  "metadata tools tool_choice usage instructions prompt error response_format user safety_identifier prompt_cache_key generation_settings",
);
/** The same in the answers of the Responses API, where other answers have their text. */
const OF_RESPONSE = wordsOf("text reasoning truncation include conversation input billing prompt_cache_retention");
/** The prompt, token by token. */
const PROMPT_TOKENS = "prompt_logprobs";
/** Members at the top that contain an answer. */
const ANSWERS: ReadonlySet<unknown> = new Set(["response", "message"]);

/** Bytes, text that a provider has sealed, and places. */
const BYTES = wordsOf(
  "b64_json partial_image_b64 embedding file_data image_data signature thought_signature obfuscation url uri",
);
const SEALED = "encrypted_";
const PLACE_ENDS = ["_url", "_uri", "_urls", "_uris"];
/** Members whose text is a keyword or an id: any other content is examined. */
const WORDS = wordsOf(
  "id type object role status model name namespace server_label phase channel finish_reason native_finish_reason stop_reason stop_sequence service_tier system_fingerprint provider category purpose mime_type media_type content_type format output_format encoding language detail quality size background effort verbosity severity task environment container voice",
);
const ID_ENDS = ["_id", "_ids"];
const URL_TEXT = /^https?:\/\/\S{1,2048}$/;
const URL_MAX = 2_056;

/** The object that a member belongs to, and its place, which is cut where it is deep. */
interface Holder {
  readonly holder: Readonly<Record<string | number, unknown>>;
  readonly place: readonly (string | number)[];
  readonly depth: number;
}

/** True for a member that is not examined, with all that is in it: by its place alone, because an upstream can write any type. */
export function isAboutAnswer({ holder, place, depth }: Holder, name: string): boolean {
  if (name === PROMPT_TOKENS) return true;
  const [first, second] = place;
  const isListed = depth === 1 ? typeof first === "number" : first === "data" && typeof second === "number";
  const isAnswer = depth === 0 || (depth === 1 && ANSWERS.has(first)) || (depth <= 2 && isListed);
  if (!isAnswer) return false;
  return OF_ANSWER.has(name) || (OF_RESPONSE.has(name) && isResponse({ holder, place, depth }, holder[name]));
}

/** Whether the object is an answer of the Responses API, where this value cannot be the text that clients of other APIs read. */
function isResponse({ holder, place, depth }: Holder, value: unknown): boolean {
  if (depth === 1 && place[0] === "response") return true;
  return holder["object"] === "response" && holder["type"] === undefined && typeof value !== "string";
}

/** True for a string that is not a text, by the name of its member (for an element, the list's name). */
export function* isNoText({ type }: { readonly type?: unknown }, name: string, text: string): Steps<boolean> {
  if (BYTES.has(name) || name.startsWith(SEALED) || PLACE_ENDS.some((end) => name.endsWith(end))) return true;
  if (name === "result" && type === "image_generation_call") return true;
  if (WORDS.has(name) || ID_ENDS.some((end) => name.endsWith(end))) return ID_CHARACTERS.test(text);
  if (name === "data" || text.startsWith("data:")) return yield* isBase64(text);
  return text.length <= URL_MAX && URL_TEXT.test(text);
}
