/**
 * One bounded question to a part of the operator's infrastructure: a deadline over all of it, no redirects, no more than a
 * megabyte of answer. What goes wrong is said in a few words of our own, never in the other side's.
 */

const ANSWER_MAX_BYTES = 1024 * 1024;

/** Why there is no answer: `timeout`, `connect failed`, `http 500`, `not json`, `answer too large`. */
export class AskError extends Error {
  override readonly name = "AskError";
  /** Status of an answer that was no success. */
  readonly status: number | null;

  constructor(reason: string, status: number | null = null) {
    super(reason);
    this.status = status;
  }
}

export interface Ask {
  readonly url: string;
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The JSON of a 2xx answer. Throws AskError. */
export async function askJson({ url, timeoutMs, headers = {} }: Ask): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutMs);
  const text = await answered(signal, async () => {
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    if (response.ok) return await boundedText(response);
    await response.body?.cancel();
    throw new AskError(`http ${response.status}`, response.status);
  });
  try {
    return JSON.parse(text);
  } catch {
    throw new AskError("not json");
  }
}

/** The status of an answer whose content does not matter. Throws AskError. */
export async function askStatus(
  { url, timeoutMs, headers = {} }: Ask,
  post?: { readonly body: string },
): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs);
  return await answered(signal, async () => {
    const request = { headers, signal, redirect: "manual" as const };
    const response = await fetch(url, post === undefined ? request : { ...request, method: "POST", body: post.body });
    await response.body?.cancel();
    return response.status;
  });
}

async function answered<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AskError) throw error;
    throw new AskError(signal.aborted ? "timeout" : "connect failed");
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) throw new AskError("answer too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
