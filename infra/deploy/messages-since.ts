/**
 * Which versions can share the traffic with this one. During a gradual rollout Workers of one version call objects of the other, so
 * both must understand the same messages (edge/domain/admission/exchange-messages.ts). Pure.
 */

/**
 * The first version that sends and understands the present messages, as numbers, because a release writes its own version into
 * `package.json` alone. Only the tag of the version that serves is compared with it. This checkout understands the messages whatever
 * its `package.json` says, which keeps the number of the last release until the next one. A checkout that is deployed before that
 * release is therefore taken for the last release by the next deployment, which then replaces it all at once: slower, never wrong.
 */
const MESSAGES_SINCE = [0, 1, 1] as const;

/** Whether a version with this tag (`v1.2.3`, as a deployment tags its upload) does. Null, or another form: it does not. */
export function understandsMessages(tag: string | null): boolean {
  const numbers = /^v(\d+)\.(\d+)\.(\d+)(?:[-+]|$)/
    .exec(tag ?? "")
    ?.slice(1)
    .map(Number);
  if (numbers === undefined) return false;
  const differing = MESSAGES_SINCE.findIndex((since, at) => since !== numbers[at]);
  return differing < 0 || (numbers[differing] ?? 0) > (MESSAGES_SINCE[differing] ?? 0);
}
