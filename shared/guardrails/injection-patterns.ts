/**
 * The patterns of prompt injection (docs/rules/guardrails.md#prompt-injection). They are regular expressions over folded
 * text, in lower case, without nested gaps: parts, and between two parts the number of characters, at most, that may stand
 * there. `phrase-automaton.ts` says which syntax a part may have.
 */

/** One pattern: parts and, between them, the largest gaps in code points. */
interface InjectionPattern {
  readonly label: string;
  readonly parts: readonly string[];
  readonly gaps: readonly number[];
  /** Whether it counts in the text of users only, because other texts contain it with good reason. */
  readonly userOnly: boolean;
  /** Words after a match, a space before each, that make it harmless; each shorter than {@link UNLESS_MAX}. */
  readonly unless: readonly string[];
}

/** How far after a match these words are searched. */
export const UNLESS_MAX = 16;

const { raw } = String;
const EARLIER = raw`\b(?:previous|prior|above|earlier|preceding|all|any|your|system)\b`;
const INSTRUCTIONS = raw`\b(?:instructions?|prompts?|rules?|directives?|guidelines?)\b`;

/** Units in which a prompt is measured, and names of devices that have a developer mode. */
const UNLESS: Readonly<Record<string, string>> = {
  reveal_prompt: "length lengths size sizes limit limits budget cache caching hash cost costs latency",
  developer_mode:
    "on android ios iphone ipad windows mac macos chrome samsung pixel my your our the a an this that by it its",
};

function pattern(label: string, ...sequence: readonly (string | number)[]): InjectionPattern {
  return {
    label,
    parts: sequence.filter((item) => typeof item === "string"),
    gaps: sequence.filter((item) => typeof item === "number"),
    userOnly: label === "system_heading",
    unless: UNLESS[label]?.split(" ") ?? [],
  };
}

/** All patterns. One match of one of them suffices. */
export const INJECTION_PATTERNS: readonly InjectionPattern[] = [
  pattern(
    "override_instructions",
    raw`\b(?:ignore|disregard|forget|override|bypass|skip|neglect)\b`,
    30,
    EARLIER,
    30,
    INSTRUCTIONS,
  ),
  pattern("refuse_instructions", raw`\bdo not (?:follow|obey|comply with)\b`, 30, EARLIER, 20, INSTRUCTIONS),
  pattern(
    "reveal_prompt",
    raw`\b(?:reveal|show|print|repeat|output|display|leak|tell me)\b`,
    30,
    raw`\b(?:system|hidden|initial|secret|developer)\b`,
    15,
    raw`\b(?:prompt|instructions?|message)\b`,
  ),
  pattern(
    "ask_for_prompt",
    raw`\bwhat (?:is|are|was|were) your (?:system|initial|hidden|original) (?:prompt|instructions?)\b`,
  ),
  pattern("new_instructions", raw`\bnew (?:system )?instructions?\s*:`),
  pattern("new_persona", raw`\byou are now (?:in )?(?:dan|developer mode|jailbroken|unrestricted|unfiltered|evil)\b`),
  pattern("jailbreak_mode", raw`\b(?:do anything now|dan mode|jailbreak mode|god mode)\b`),
  pattern("developer_mode", raw`\bdeveloper mode (?:enabled|on)\b`),
  pattern(
    "pretend_no_limits",
    raw`\b(?:pretend|act|behave|respond) (?:to be |as |like )?(?:if )?(?:you (?:have|had|are under) )?no (?:restrictions?|rules?|limits?|filters?|guidelines?)\b`,
  ),
  pattern(
    "answer_without_limits",
    raw`\b(?:answer|respond|reply|speak|act|behave)\b`,
    30,
    raw`\b(?:without|free of|free from) (?:any )?(?:restrictions?|censorship|filters?|ethical (?:guidelines?|limits?)|safety (?:rules?|guidelines?))\b`,
  ),
  pattern(
    "disable_safety",
    raw`\b(?:disable|turn off|deactivate|remove) (?:your |all |the )?(?:(?:safety|moderation|ethical)[ -]?(?:filters?|rules?|guidelines?|protocols?|policy|policies)?|content[ -]?(?:filters?|rules?|guidelines?|protocols?|policy|policies|moderation))\b`,
  ),
  pattern(
    "must_comply",
    raw`\byou (?:must|will|have to) (?:always )?(?:answer|comply|obey|respond) (?:with|to) (?:any|every|all)\b`,
  ),
  pattern("from_now_on", raw`\bfrom now on,? you (?:are|will|must|have)\b`, 60, raw`\b(?:no|without|ignore|any)\b`),
  pattern("chat_markup", raw`<\|?(?:im_start|im_end|system|endoftext)\|?>`),
  pattern("instruction_markup", raw`\[/?(?:inst|sys|system)\]|<<sys>>`),
  pattern("system_heading", raw`(?:^|\n)[ \t]*(?:##+[ \t]*system\b|system[ \t]*:\s*you (?:are|must|will)\b)`),
  pattern("end_of_prompt", raw`\b(?:end|close) of (?:system )?(?:prompt|instructions?)\b`),
  pattern(
    "authorized_override",
    raw`\bthis is (?:a|an) (?:authorized|official|emergency) (?:override|test of your (?:rules|filters))\b`,
  ),
  pattern(
    "claimed_authority",
    raw`\bi am (?:your|the) (?:developer|creator|administrator|owner)\b`,
    40,
    raw`\b(?:override|disable|ignore|grant|unlock)\b`,
  ),
  pattern("privileged_mode", raw`\b(?:enter|enable|activate|switch to) (?:sudo|root|god|admin(?:istrator)?) mode\b`),
  pattern(
    "decode_and_run",
    raw`\b(?:decode|decrypt|unscramble) (?:this|the following)\b`,
    40,
    raw`\b(?:and|then) (?:execute|follow|obey|run)\b`,
  ),
  pattern("opposite_mode", raw`\bopposite (?:day|mode)\b`, 40, raw`\b(?:refuse|rules?|filters?)\b`),
  pattern("hypothetical", raw`\bhypothetical(?:ly)?\b`, 60, raw`\bno (?:rules?|restrictions?|ethic)`),
  pattern(
    "grandmother",
    raw`\b(?:grandmother|grandma)\b`,
    60,
    raw`\b(?:used to (?:tell|read)|bedtime)\b`,
    60,
    raw`\b(?:recipe|keys?|napalm|password)`,
  ),
  pattern(
    "exfiltrate",
    raw`\b(?:exfiltrate|send|post|upload)\b`,
    40,
    raw`\b(?:conversation|chat history|system prompt|credentials?|api keys?)\b`,
    40,
    raw`\bhttps?:`,
  ),
];
