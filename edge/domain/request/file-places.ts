/** Where a body has files: their places, or their bytes. */
import { foldedName } from "./client-fields.ts";

/** Members whose text, or list of texts, is a place or bytes of a file; no text for models, in the rules of guardrails. */
export const FILE_MEMBERS: readonly string[] =
  "url uri image_url audio_url video_url file_url image images mask audio video ref_audio image_embeds audio_embeds file_data image_data b64_json".split(
    " ",
  );
/** Also without underscores, as JSON of protocol buffers may write them. */
const PLACES: ReadonlySet<string> = new Set(
  [...FILE_MEMBERS, "file_uri", "audio_data", "video_data", "video_embeds"].flatMap((name) => [
    name,
    name.replaceAll("_", ""),
  ]),
);
/** A member of one of these, too, is bytes, or a place. */
const DATA = "data";
const WITH_DATA = /audio|image|video|file|source/;

/** Longest start of a text that is looked at, in bytes: every character of a scheme may be escaped. */
export const SCHEME_MAX_BYTES = 128;
/** What parsers of URLs drop: at the start, and anywhere. */
const DROPPED = /^[\0-\u0020\s]+|[\t\n\r]/g;
/** Schemes that the upstream reads with its own rights: from its disk, or from a bucket of its account. */
const OWN = /^(?:file|gs|s3):/i;
/** As long as the longest of them. */
const OWN_LENGTH = "file:".length;

/** Whether the last of these names is that of a file's place; `above`: the name of what it is a member of. */
export function isPlaceName(name: string, above: string): boolean {
  return PLACES.has(name) || (name === DATA && WITH_DATA.test(above));
}

/** Whether a place that starts so is one of the upstream's own, or may be: of a `cut` one the scheme may not have come. */
export function isOwnPlaceText(start: string, cut: boolean): boolean {
  const text = start.replace(DROPPED, "");
  return OWN.test(text) || (cut && text.length < OWN_LENGTH);
}

/** Whether the field of a form, such as `image[0][url]`, is the place of a file. */
export function isPlaceField(name: string): boolean {
  const steps = foldedName(name)
    .split(/[^a-z_]+/)
    .filter((step) => step !== "");
  return isPlaceName(steps.at(-1) ?? "", steps.at(-2) ?? "");
}
