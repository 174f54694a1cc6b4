/**
 * What is shown of an upstream's answer (docs/rules/health.md#records): its beginning, without characters that a
 * database cannot store, and without the credential, which some upstreams repeat when they refuse it. Pure.
 */

const EXCERPT_MAX = 500;

/** At most 500 characters of an answer. */
export function excerptOf(text: string, credential: string | null): string {
  return spellingsOf(credential?.trim() ?? "")
    .reduce((shown, spelling) => shown.replaceAll(spelling, "[credential]"), text)
    .replace(/\p{Cc}+/gu, " ")
    .slice(0, EXCERPT_MAX)
    .toWellFormed();
}

/**
 * The forms in which a secret may occur in a text: plain, in JSON, in JSON with escaped slashes, and in an address. Blanks
 * around the secret are not sent, so they are left out.
 */
function spellingsOf(secret: string): readonly string[] {
  if (secret === "") return [];
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, inJson, inJson.replaceAll("/", "\\/"), encodeURIComponent(secret)])];
}
