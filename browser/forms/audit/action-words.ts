/** Actions of the audit log in words, and back. Pure. */

/** Names that only the API has, and what the console calls them. Words lead back to one name. */
const WORDS = [
  ["managed_model", "deployment"],
  ["model_endpoint", "endpoint"],
  ["group_grant", "role of a group"],
  ["auto_router", "routing"],
  ["jobsched", "job scheduler"],
  ["allowlist", "allowed models"],
  ["boon", "add-on"],
  ["mcp", "MCP"],
  ["put", "saved"],
  ["patch", "edited"],
  ["stop", "stopped"],
  ["cancel", "cancelled"],
  ["apply", "applied"],
  ["resync", "synced the cache"],
] as const;
/** Past verbs whose present does not end with `e`, unlike that of all others. */
const ENDS_OTHERWISE = /^(start|restart|end|mark|clear|export|seal|provision|compact)ed\b/;
/** The verb of an action, unless it is past by now, or looks the same. */
const PRESENT = /^(?!set|read|\w+ed\b)([a-z]+?)e?\b/;

/** `put_managed_model` as `Saved deployment`. */
export function actionText(action: string): string {
  const said = WORDS.reduce((before, [name, word]) => replaced(before, name, word), action);
  const words = said.replaceAll("_", " ").replace(PRESENT, "$1ed");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The action that words mean, as the API's filter takes it: matching is exact. */
export function actionNamed(words: string): string {
  const typed = words.trim().toLowerCase().replace(/\s+/g, " ");
  if (typed.includes("_")) return typed;
  const said = WORDS.reduce((before, [name, word]) => replaced(before, word.toLowerCase(), name), typed);
  return said
    .replace(ENDS_OTHERWISE, "$1")
    .replace(/^([a-z]+e)d\b/, "$1")
    .replaceAll(" ", "_");
}

/** Whole words alone: `put` is none of `output`. */
function replaced(text: string, from: string, to: string): string {
  return text.replace(new RegExp(`(?<![a-z])${from}(?![a-z])`, "g"), to);
}
