import { cutJson, type JsonDocument, readCut } from "../../../edge/domain/wire/json/document.ts";
import { atOnce } from "../../../shared/steps.ts";

/** The document of a whole body as the gateway reads it, or null when the bytes are not a JSON object. */
export function readJson(bytes: Uint8Array, secret: string, parseWholeMaxBytes?: number): JsonDocument | null {
  const cut = atOnce(cutJson([bytes], secret, parseWholeMaxBytes));
  return cut === null ? null : atOnce(readCut(cut, secret));
}
