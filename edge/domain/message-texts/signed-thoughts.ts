/** The signatures of thoughts, in requests and in answers: one would not fit a thought that is changed. */
import type { Steps } from "../../../shared/steps.ts";
import { isSignature } from "../dialect/responses/sealed.ts";
import { elementsOf, objectOf } from "../dialect/values.ts";
import type { BytePieces, Span } from "../wire/bytes/byte-pieces.ts";
import { stringAt } from "../wire/json/string-places.ts";
import type { AnswerText } from "./answer-texts.ts";
import type { KnownPath } from "./known-path.ts";

/** Members that sign a thought. */
const SIGNATURES = new Set(["signature", "encrypted_content"]);
/** Steps from a member to the signature of a part of a message, the deepest one. */
const SIGNATURE_DEPTH = 4;

/** True for a string that {@link signedWith} can lead to. */
export function isSignatureOf({ name, inherited: { rule }, steps }: KnownPath): boolean {
  if (!SIGNATURES.has(name)) return false;
  return (rule === "messages" || rule === "all") && steps <= SIGNATURE_DEPTH;
}

/** The object whose signature covers a text, if it is a thought. */
export function signedWith({ name, up }: KnownPath): KnownPath | null {
  if (name === "thinking") return up;
  const list = up?.up;
  return list?.name === "summary" ? list.up : null;
}

/** An item of reasoning may be sealed by an API that signs no summary. */
export function* isOfSignature(body: BytePieces, { name }: KnownPath, signature: Span): Steps<boolean> {
  return name === "thinking" || isSignature(yield* stringAt(body, signature));
}

/** Removes the signature of a changed thought from its item of the Responses API. */
export function unseal(document: unknown, { holder, place }: AnswerText): void {
  const [summary, at] = place.slice(-3);
  if (summary !== "summary" || typeof at !== "number") return;
  let item: unknown = document;
  for (const step of place.slice(0, -3)) item = (item as Readonly<Record<string, unknown>> | undefined)?.[step];
  const { summary: parts, encrypted_content: sealed } = objectOf(item);
  if (elementsOf(parts)[at] === holder && isSignature(sealed))
    delete (item as Record<string, unknown>)["encrypted_content"];
}
