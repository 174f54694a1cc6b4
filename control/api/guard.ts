/**
 * What every request passes before its route: the admin token compared in constant time, the maximum size of the body, the
 * actor (docs/rules/management-api.md#token-and-actor, docs/rules/management-api.md#limits).
 */
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { GatewayError } from "../../shared/errors.ts";
import type { JsonPartsLimits } from "../kernel/json-parts.ts";
import { actorOf, auditAddressOf, auditPersonOf } from "./actor.ts";
import { clientAddress } from "./client-address.ts";
import type { ApiDeps, ApiTypes } from "./types.ts";

const MEBIBYTE = 1024 * 1024;
/** The largest bodies: a backup file is larger than any other (docs/rules/management-api.md#limits). */
export const BODY_MAX_BYTES = { management: 2 * MEBIBYTE, backup: 64 * MEBIBYTE } as const;
/**
 * Of the parts of these bodies. A backup may have more than any of its size has: 60 MB of nothing but small objects would keep the
 * service from all others for a minute, and each look at an object of 500,000 names takes a second. Other bodies have a few
 * thousand at most, and anybody who may call the console sends them.
 */
export const BODY_PARTS = {
  management: { parts: 64 * 1024, names: 4096 },
  backup: { parts: 4 * 1024 * 1024, names: 16 * 1024 },
} as const satisfies Record<keyof typeof BODY_MAX_BYTES, JsonPartsLimits>;
const DISCARD_MAX_BYTES = 128 * MEBIBYTE;
/** A client that sends nothing for this long is taken to wait for the answer. */
const DISCARD_SILENCE_MS = 500;

/** Which bounds the body of a request to this path has. */
export function bodyKind(path: string): keyof typeof BODY_MAX_BYTES {
  return path === "/api/v1/backup/restore" ? "backup" : "management";
}

/**
 * The credential of a request for a user of this tenant. Only a gateway that narrows the answer takes it: an older one refuses it
 * as a wrong token.
 */
export function userCredential(tenantId: string, token: string): string {
  return `User ${tenantId} ${token}`;
}

const USER_CREDENTIAL = /^User ([0-9a-f-]{36}) (.*)$/;

/** Refuses every request without the exact token; sets the context of the actor, and the tenant of the user. */
export function authenticate(deps: ApiDeps): MiddlewareHandler<ApiTypes> {
  return async (c, next) => {
    const credential = c.req.header("authorization") ?? "";
    const [, tenantId = null, token] = USER_CREDENTIAL.exec(credential) ?? [];
    if (!deps.adminTokens.accepts(token === undefined ? credential : `Bearer ${token}`)) {
      await deps.refusals.refuse(c);
      throw new GatewayError("unauthorized");
    }
    c.set("tenantId", tenantId);
    const given = auditAddressOf(c.req.header("x-gateway-audit-address"));
    const address = given ?? clientAddress(c, deps.proxies) ?? "";
    const ctx = deps.context(actorOf(c.req.header("x-gateway-audit-actor")), address);
    const personId = auditPersonOf(c.req.header("x-gateway-audit-person"));
    c.set("ctx", {
      ...ctx,
      ...(personId === null ? {} : { personId }),
      ...(tenantId === null ? {} : { isForUser: true }),
    });
    await next();
  };
}

/**
 * Refuses larger bodies with 413. What the client still sends is first read and thrown away, up to a limit and while it
 * keeps coming: most clients read no answer while they write, others wait for the answer before they write. Only
 * requests with the right token get here.
 */
export const limitBody: MiddlewareHandler<ApiTypes> = async (c, next) =>
  await limitBodyTo(BODY_MAX_BYTES[bodyKind(c.req.path)])(c, next);

/** The same for a route whose bodies are smaller. */
export const limitBodyTo = (maxSize: number): MiddlewareHandler<ApiTypes> =>
  bodyLimit({
    maxSize,
    onError: async (refused) => {
      await discard(refused.req.raw.body);
      throw new GatewayError("request_too_large", { headers: { connection: "close" } });
    },
  });

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
    // the client has closed the connection
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
