/** Reads the body of a request (docs/rules/management-api.md#bodies). */
import type { Context } from "hono";
import { GatewayError } from "../../shared/errors.ts";
import { hasMoreParts } from "../kernel/json-parts.ts";
import { fieldError } from "../kernel/parse.ts";
import { repeatedName } from "../kernel/repeated-name.ts";

/**
 * More than any backup of its size has; 60 MB of nothing but small objects would keep the service from all others for a minute, and
 * each look at an object of 500,000 names takes a second.
 */
const PARTS_MAX = { parts: 4 * 1024 * 1024, names: 16 * 1024 };

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
  if (hasMoreParts(bytes, PARTS_MAX)) throw new GatewayError("request_too_large");
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
