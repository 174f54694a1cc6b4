/** The signatures of thoughts, in requests and in answers: one would not fit a thought that is changed. */
import type { Steps } from "../../../shared/steps.ts";
import { isSignature } from "../dialect/responses/sealed.ts";
import { elementsOf, objectOf } from "../dialect/values.ts";
import type { BytePieces, Span } from "../wire/bytes/byte-pieces.ts";
import { type JsonPath, stringAt } from "../wire/json/string-places.ts";
import type { AnswerText } from "./answer-texts.ts";
import { memberOf, type TextScope } from "./text-scopes.ts";
import { nameOf } from "./unread-members.ts";

/** Members that sign a thought. */
const SIGNATURES = new Set(["signature", "encrypted_content"]);
/** Steps from a member to the signature of a part of a message, the deepest one. */
const SIGNATURE_DEPTH = 4;

/** True for a string that {@link signedWith} can lead to. */
export function isSignatureOf(scope: TextScope, path: JsonPath): boolean {
  if (!SIGNATURES.has(nameOf(path.at(-1)))) return false;
  const { name, at } = memberOf(scope, path);
  const rule = scope.get(name);
  return (rule === "messages" || rule === "all") && path.length - at - 1 <= SIGNATURE_DEPTH;
}

/** The object whose signature is that of a text, if it is a thought. */
export function signedWith(path: JsonPath): JsonPath | null {
  if (nameOf(path.at(-1)) === "thinking") return path.slice(0, -1);
  return nameOf(path.at(-3)) === "summary" ? path.slice(0, -3) : null;
}

/** An item of reasoning may be sealed by an API that signs no summary. */
export function* isOfSignature(body: BytePieces, path: JsonPath, signature: Span): Steps<boolean> {
  return nameOf(path.at(-1)) === "thinking" || isSignature(yield* stringAt(body, signature));
}

/** Takes the signature of a thought that was changed out of its item of the Responses API. */
export function unseal(document: unknown, { holder, place }: AnswerText): void {
  const [summary, at] = place.slice(-3);
  if (summary !== "summary" || typeof at !== "number") return;
  let item: unknown = document;
  for (const step of place.slice(0, -3)) item = (item as Readonly<Record<string, unknown>> | undefined)?.[step];
  const { summary: parts, encrypted_content: sealed } = objectOf(item);
  if (elementsOf(parts)[at] === holder && isSignature(sealed))
    delete (item as Record<string, unknown>)["encrypted_content"];
}
