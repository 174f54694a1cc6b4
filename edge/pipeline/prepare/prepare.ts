/**
 * Step 4: the estimate of the request's tokens, which every later decision needs. Like every step it has its own file, so that
 * run.ts only holds their order.
 */
import { imageCount } from "../../domain/request/image-count.ts";
import { estimateTokens, measureOf, type TokenEstimate } from "../../domain/request/token-estimate.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { Prepared, Resolved } from "../call/known.ts";
import { fieldError } from "../resolve-model/field-error.ts";

/** The input, with the estimate from the client's own body. */
export async function prepare(call: Call, request: Resolved): Promise<Prepared> {
  const estimate = await inTurns(call, estimateTokens(call.route.estimate, request.parsed.document, call.route.limits));
  return prepared(call, request, estimate, await imagesOf(call, request));
}

/** The input, with this estimate. */
export function prepared({ route }: Call, request: Resolved, estimate: TokenEstimate, images = 1): Prepared {
  const measure = measureOf.bind(null, route.billedBy, request.parsed.document, images);
  return { ...request, estimate, guarded: null, measure };
}

/** The number of images that the body asks for; in a form it is digits in `n`. Throws 400 for a wrong number. */
async function imagesOf(call: Call, { parsed: { document, outgoing } }: Resolved): Promise<number> {
  if (call.route.billedBy !== "images") return 1;
  if (outgoing.form) return Number(document.root["n"] ?? 1);
  const count = await inTurns(call, imageCount(outgoing.clientBytes ?? []));
  if (typeof count !== "number") throw fieldError(count);
  return count;
}
