/**
 * What stands before every route: the admin token in constant time, the body cap, the actor
 * (docs/rules/management-api.md#token-and-actor, docs/rules/management-api.md#limits).
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { GatewayError } from "../../shared/errors.ts";
import { actorOf } from "./actor.ts";
import type { ApiDeps, ApiTypes } from "./types.ts";

const MEBIBYTE = 1024 * 1024;
const BODY_MAX_BYTES = 2 * MEBIBYTE;
const DISCARD_MAX_BYTES = 128 * MEBIBYTE;
/** A sender that is silent for this long waits for the answer. */
const DISCARD_SILENCE_MS = 500;
/** A backup file is larger than any other body (docs/rules/management-api.md#limits). */
const LARGER_BODIES: Readonly<Record<string, number>> = { "/api/v1/backup/restore": 64 * MEBIBYTE };

/** Refuses everything without the exact token; sets the context of the actor. */
export function authenticate(deps: ApiDeps): MiddlewareHandler<ApiTypes> {
  const expected = digest(`Bearer ${deps.adminToken}`);
  return async (c, next) => {
    if (!timingSafeEqual(digest(c.req.header("authorization") ?? ""), expected)) {
      await deps.refusals.refuse(c);
      throw new GatewayError("unauthorized");
    }
    c.set("ctx", deps.context(actorOf(c.req.header("x-gateway-audit-actor"))));
    await next();
  };
}

/**
 * Refuses larger bodies with 413. What is being sent is read and thrown away first, up to a bound and for as long as it
 * comes: most clients see no answer while they still write, others wait for it before they begin, and this one has the token.
 */
export const limitBody: MiddlewareHandler<ApiTypes> = async (c, next) =>
  await bodyLimit({
    maxSize: LARGER_BODIES[c.req.path] ?? BODY_MAX_BYTES,
    onError: async (refused) => {
      await discard(refused.req.raw.body);
      throw new GatewayError("request_too_large", { headers: { connection: "close" } });
    },
  })(c, next);

async function discard(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (body === null || body.locked) return;
  const reader = body.getReader();
  let bytes = 0;
  try {
    while (bytes <= DISCARD_MAX_BYTES) {
      const chunk = await orSilence(reader.read());
      if (chunk === null || chunk.done) return;
      bytes += chunk.value.byteLength;
    }
  } catch {
    // the sender has gone
  }
}

async function orSilence<T>(next: Promise<T>): Promise<T | null> {
  const silence = Promise.withResolvers<null>();
  const timer = setTimeout(() => silence.resolve(null), DISCARD_SILENCE_MS);
  try {
    return await Promise.race([next, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
