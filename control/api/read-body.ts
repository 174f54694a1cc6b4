/** Reads the body of a request (docs/rules/management-api.md#bodies). */
import type { Context } from "hono";
import { GatewayError } from "../../shared/errors.ts";
import { hasMoreParts } from "../kernel/json-parts.ts";
import { fieldError } from "../kernel/parse.ts";
import { repeatedName } from "../kernel/repeated-name.ts";
import { BODY_PARTS, bodyKind } from "./guard.ts";

interface JsonBody {
  readonly text: string;
  readonly input: unknown;
}

/**
 * The JSON body and its text; `{}` for an empty body where an absent one is allowed. Throws 413, 415, 400 `invalid_json`, and 400 for
 * an object that has a name twice: whichever of the values was taken, the caller may have meant the other.
 */
export async function readBody(c: Context, isOptional: boolean): Promise<JsonBody> {
  if (!/^(identity)?$/i.test(c.req.header("content-encoding") ?? ""))
    throw new GatewayError("unsupported_encoding", {
      complaint: "content-encoding must be identity or absent: send the body uncompressed",
      headers: { "accept-encoding": "identity" },
    });
  const bytes = new Uint8Array(await c.req.arrayBuffer());
  if (hasMoreParts(bytes, BODY_PARTS[bodyKind(c.req.path)])) throw new GatewayError("request_too_large");
  const body = parseJson(bytes, isOptional);
  const repeated = repeatedName(bytes);
  if (repeated !== null) throw fieldError(repeated, "must be given only once");
  return body;
}

function parseJson(bytes: Uint8Array, isOptional: boolean): JsonBody {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, input: isOptional && text.trim() === "" ? {} : JSON.parse(text) };
  } catch {
    throw new GatewayError("invalid_json");
  }
}
