/** The directive header `x-gateway-boons` (docs/rules/headers.md#directive). */
import type { Call } from "../context.ts";

/** The client's choices about the boons of its request; unknown words mean nothing. */
interface BoonDirectives {
  /** No boon for this request. */
  readonly off: boolean;
  /** Compression may lose text. */
  readonly lossy: boolean;
}

/** The directives of a request. */
export function directivesOf(call: Call): BoonDirectives {
  const text = call.request.headers.get("x-gateway-boons");
  if (text === null) return { off: false, lossy: false };
  const words = text.split(",").map((word) => word.trim().toLowerCase());
  return { off: words.includes("off"), lossy: words.includes("lossy") };
}
