/**
 * The members of a request that no model reads: the closed lists behind docs/rules/guardrails.md#what-is-not-scanned. Every
 * other string of a body is examined.
 */
import type { Steps } from "../../../shared/steps.ts";
import { foldedName } from "../request/client-fields.ts";
import { FILE_MEMBERS } from "../request/file-places.ts";
import { isDefinitionName, isDefinitionType } from "./definition-words.ts";

/** The words of a list. */
export const wordsOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Members of a body for its server, with all that is in them. */
const OF_SERVER = wordsOf(
  "user metadata safety_identifier prompt_cache_key cache_salt betas include modalities service_tier truncation verbosity reasoning_effort encoding_format stream_options voice",
);
/** The same at any depth. A stop sequence is often markup that no client may write elsewhere. */
const OF_SERVER_ANYWHERE = wordsOf("model models stop stop_sequences tool_choice");
/** Places of files, bytes of files, and text that a provider has sealed. */
const FILES: ReadonlySet<string> = new Set([...FILE_MEMBERS, "encrypted_content", "signature", "authorization_token"]);

const ROLES = wordsOf("system developer user assistant tool function model");
const PART_TYPES = wordsOf(
  "message reasoning refusal image audio video document file url base64 ephemeral logs thinking",
);
const PART_NAMES = wordsOf(
  "role content text id tools input output arguments url detail source data thinking signature context citations file filename refusal audio image reasoning summary annotations query queries action code results logs document parts model",
);
/** Words that are joined to one: the name of a member, or a type. */
const JOINED = /^[a-z]+(?:_[a-z0-9]+)+$/;
/** No name or type of a protocol is longer, and an expression with a repeated group would take too long. */
const JOINED_MAX = 128;
/** A text that may be an id, or a keyword. */
export const ID_CHARACTERS = /^[\w.:|=+/-]{1,256}$/;
/** The prefix that may precede bytes in base64. */
const DATA_URL = /^data:[^,]{0,128},/;
const DATA_URL_MAX = 256;
const BASE64 = /^[\w+/=-]*$/;
/** In less bytes in base64 no word is found by chance. */
const BASE64_MIN = 256;
/** Characters examined at once; one unit of work reads some of them. */
const PART = 16 * 1024;
const CHARACTERS_PER_UNIT = 8;

/** Nearly every name, which needs no folding. */
const FOLDED = /^[a-z0-9_]{1,64}$/;

/** A server of a path without rules reads no prompt that is deeper; each step costs time for every string of a body. */
export const MEMBER_DEPTH_MAX = 8;

/** How the name of a step is compared; an element has no name. */
export function nameOf(step: string | number | undefined): string {
  if (typeof step !== "string") return "";
  return FOLDED.test(step) ? step : foldedName(step);
}

/** True for a member of a body that is for the server. */
export function isServerMember(name: string): boolean {
  return OF_SERVER.has(name);
}

/** True for a member that is for the server at any place. */
export function isOfServerAnywhere(name: string): boolean {
  return OF_SERVER_ANYWHERE.has(name);
}

/** True for a string in a member that holds the place of a file, or its bytes, whatever its text. */
export function isOfFile(leaf: string): boolean {
  return FILES.has(leaf);
}

/** True for a name, or the text of a member, that is a keyword of the protocols. */
export function isProtocolWord(name: string, isName: boolean, text: string): boolean {
  if (isName) return isDefinitionName(text) || PART_NAMES.has(text) || isJoined(text);
  if (name === "role") return ROLES.has(text.toLowerCase());
  return name === "type" && (isDefinitionType(text) || PART_TYPES.has(text) || isJoined(text));
}

function isJoined(text: string): boolean {
  return text.length <= JOINED_MAX && JOINED.test(text);
}

/** True for bytes in base64, with or without the prefix of a `data:` URL. */
export function* isBase64(text: string): Steps<boolean> {
  const from = DATA_URL.exec(text.slice(0, DATA_URL_MAX))?.[0].length ?? 0;
  if (text.length - from < BASE64_MIN) return false;
  for (let at = from; at < text.length; at += PART) {
    const part = text.slice(at, at + PART);
    if (!BASE64.test(part)) return false;
    yield part.length / CHARACTERS_PER_UNIT;
  }
  return true;
}

/** True for an id, and for bytes in base64, where the name of the member says that it has such. */
export function* isIdOrBytes(leaf: string, text: string): Steps<boolean> {
  if (leaf === "data") return yield* isBase64(text);
  return /(?:^|_)ids?$|^(?:conversation|container)$/.test(leaf) && ID_CHARACTERS.test(text) && /[\d_]/.test(text);
}
