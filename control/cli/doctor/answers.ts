/**
 * Answers of what is examined, which may be anything: another program, a proxy, somebody who means harm. They are read up to a
 * size, redirects are not followed, and what is not of the expected shape is an {@link OddAnswer}.
 */
import type { z } from "zod";

/** Of metrics of many cells, of a page of 1,000 models: tens of MiB are neither. */
const BODY_MAX_BYTES = 16 * 1024 * 1024;

/** A part answers, but not like a part of a gateway. */
class OddAnswer extends Error {
  override readonly name = "OddAnswer";
  readonly code = "ODD_ANSWER";
}

/** `fetch` for the doctor. The body fails with {@link OddAnswer} where it is longer than any answer of a gateway. */
export async function fetchLimited(input: Request | URL | string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: "manual" });
  if (response.status < 200 || response.status > 599) throw new OddAnswer("a status that HTTP does not have");
  if (response.body === null) return response;
  let left = BODY_MAX_BYTES;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      left -= chunk.byteLength;
      if (left < 0) controller.error(new OddAnswer("too long"));
      else controller.enqueue(chunk);
    },
  });
  const { status, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, headers });
}

/** The value, if it has the shape. Throws OddAnswer. */
export function shaped<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, success } = schema.safeParse(value);
  if (!success) throw new OddAnswer("of another shape");
  return data;
}
