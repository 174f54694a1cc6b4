/** The text of an answer from a server that might send too much. */

/** An answer is longer than it may be. */
export class AnswerTooLong extends Error {
  override readonly name = "AnswerTooLong";
}

/** The whole body as text. Throws AnswerTooLong from `maxChars` on, and what reading throws; the body is cancelled then. */
export async function boundedText(response: Response, maxChars: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > maxChars) throw new AnswerTooLong("the answer is too long");
  }
  return text + decoder.decode();
}
