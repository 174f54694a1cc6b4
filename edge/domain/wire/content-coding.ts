/** The codings in which bodies are read (RFC 9110 section 8.4.1, RFC 8878 for zstd). */
const CODINGS = ["gzip", "deflate", "br", "zstd"] as const;

export type ContentCoding = (typeof CODINGS)[number];

/** The same as a list in a header. */
export const READ_CODINGS = CODINGS.join(", ");

/** The coding that a `content-encoding` names; null: none. Undefined: several, or one that is not read. */
export function codingOf(header: string | null): ContentCoding | null | undefined {
  const name = (header ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return null;
  return CODINGS.find((coding) => coding === name || `x-${coding}` === name);
}
