/** The scanners against the regular expressions of the rules, read by another engine: JavaScript's own. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan, type ScanMatch, type ScannedText, type TextScanner } from "./text-scan.ts";

const X = "(?:previous|prior|above|earlier|preceding|all|any|your|system)";
const I = "(?:instructions?|prompts?|rules?|directives?|guidelines?)";

/** docs/rules/guardrails.md#prompt-injection */
const INJECTION: Readonly<Record<string, string>> = {
  override_instructions: String.raw`\b(?:ignore|disregard|forget|override|bypass|skip|neglect)\b.{0,30}\b${X}\b.{0,30}\b${I}\b`,
  refuse_instructions: String.raw`\bdo not (?:follow|obey|comply with)\b.{0,30}\b${X}\b.{0,20}\b${I}\b`,
  reveal_prompt: String.raw`\b(?:reveal|show|print|repeat|output|display|leak|tell me)\b.{0,30}\b(?:system|hidden|initial|secret|developer)\b.{0,15}\b(?:prompt|instructions?|message)\b(?! (?:lengths?|sizes?|limits?|budget|cache|caching|hash|costs?|latency)\b)`,
  ask_for_prompt: String.raw`\bwhat (?:is|are|was|were) your (?:system|initial|hidden|original) (?:prompt|instructions?)\b`,
  new_instructions: String.raw`\bnew (?:system )?instructions?\s*:`,
  new_persona: String.raw`\byou are now (?:in )?(?:dan|developer mode|jailbroken|unrestricted|unfiltered|evil)\b`,
  jailbreak_mode: String.raw`\b(?:do anything now|dan mode|jailbreak mode|god mode)\b`,
  developer_mode: String.raw`\bdeveloper mode (?:enabled|on)\b(?! (?:on|android|ios|iphone|ipad|windows|mac|macos|chrome|samsung|pixel|my|your|our|the|a|an|this|that|by|it|its)\b)`,
  pretend_no_limits: String.raw`\b(?:pretend|act|behave|respond) (?:to be |as |like )?(?:if )?(?:you (?:have|had|are under) )?no (?:restrictions?|rules?|limits?|filters?|guidelines?)\b`,
  answer_without_limits: String.raw`\b(?:answer|respond|reply|speak|act|behave)\b.{0,30}\b(?:without|free of|free from) (?:any )?(?:restrictions?|censorship|filters?|ethical (?:guidelines?|limits?)|safety (?:rules?|guidelines?))\b`,
  disable_safety: String.raw`\b(?:disable|turn off|deactivate|remove) (?:your |all |the )?(?:(?:safety|moderation|ethical)[ -]?(?:filters?|rules?|guidelines?|protocols?|policy|policies)?|content[ -]?(?:filters?|rules?|guidelines?|protocols?|policy|policies|moderation))\b`,
  must_comply: String.raw`\byou (?:must|will|have to) (?:always )?(?:answer|comply|obey|respond) (?:with|to) (?:any|every|all)\b`,
  from_now_on: String.raw`\bfrom now on,? you (?:are|will|must|have)\b.{0,60}\b(?:no|without|ignore|any)\b`,
  chat_markup: String.raw`<\|?(?:im_start|im_end|system|endoftext)\|?>`,
  instruction_markup: String.raw`\[/?(?:INST|SYS|SYSTEM)\]|<<SYS>>`,
  system_heading: String.raw`(?:^|\n)[ \t]*(?:#{2,}[ \t]*system\b|system[ \t]*:\s*you (?:are|must|will)\b)`,
  end_of_prompt: String.raw`\b(?:end|close) of (?:system )?(?:prompt|instructions?)\b`,
  authorized_override: String.raw`\bthis is (?:a|an) (?:authorized|official|emergency) (?:override|test of your (?:rules|filters))\b`,
  claimed_authority: String.raw`\bi am (?:your|the) (?:developer|creator|administrator|owner)\b.{0,40}\b(?:override|disable|ignore|grant|unlock)\b`,
  privileged_mode: String.raw`\b(?:enter|enable|activate|switch to) (?:sudo|root|god|admin(?:istrator)?) mode\b`,
  decode_and_run: String.raw`\b(?:decode|decrypt|unscramble) (?:this|the following)\b.{0,40}\b(?:and|then) (?:execute|follow|obey|run)\b`,
  opposite_mode: String.raw`\bopposite (?:day|mode)\b.{0,40}\b(?:refuse|rules?|filters?)\b`,
  hypothetical: String.raw`\bhypothetical(?:ly)?\b.{0,60}\bno (?:rules?|restrictions?|ethic)`,
  grandmother: String.raw`\b(?:grandmother|grandma)\b.{0,60}\b(?:used to (?:tell|read)|bedtime)\b.{0,60}\b(?:recipe|keys?|napalm|password)`,
  exfiltrate: String.raw`\b(?:exfiltrate|send|post|upload)\b.{0,40}\b(?:conversation|chat history|system prompt|credentials?|api keys?)\b.{0,40}\bhttps?:`,
};

const scan = (scanners: readonly TextScanner[], banKeywords: readonly string[] = []) =>
  compileScan({ scanners, banKeywords });
const user = (text: string): ScannedText => ({ text, user: true });
const labels = (matches: readonly ScanMatch[]) => matches.map(({ label }) => label);

/** Folded as the rules say, for texts without letters that look like Latin ones. */
const foldedPlainly = (text: string) =>
  text
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .replace(/[ \t]+/g, " ");

describe("prompt injection", () => {
  const all = scan(["prompt_injection"]);

  /** Short texts of a pattern's own words and the characters between them, so that many match and as many nearly match. */
  const textsFor = (source: string) => {
    const words = [...new Set(source.match(/[a-z_]{2,}|[<>[\]#:|,/]/gi) ?? [])];
    const phrases = source
      .split(/\.\{0,\d+\}/)
      .map((part) => part.replace(/\\b/g, ""))
      .flatMap((part) => [simplest(part, 0), simplest(part, 1)]);
    const gap = fc.integer({ min: 0, max: 66 }).map((length) => ` ${"x".repeat(Math.max(0, length - 2))} `);
    const atom = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...phrases) },
      { weight: 3, arbitrary: fc.constantFrom(...words) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("s", "ly", ":", "I", "  ", "\n", "\t", "-", "no", "you", "😀", "\u200b", ""),
      },
      { weight: 1, arbitrary: gap },
    );
    const glue = fc.constantFrom(" ", " ", " ", " ", "", "\n", "  ");
    const rest = fc.array(fc.tuple(atom, glue, fc.boolean()), { maxLength: 9 });
    // the phrases in order, each followed by little or much text
    const ordered = fc.tuple(
      ...phrases
        .filter((_, at) => at % 2 === 0)
        .map((phrase) => fc.tuple(fc.constant(phrase), fc.oneof(glue, gap), fc.boolean())),
    );
    return fc
      .oneof(
        { weight: 3, arbitrary: rest },
        { weight: 1, arbitrary: fc.tuple(ordered, rest).map((parts) => parts.flat()) },
      )
      .map((parts) => parts.map(([word, after, loud]) => (loud ? word.toUpperCase() : word) + after).join(""));
  };

  it.each(Object.entries(INJECTION))("%s matches what its regular expression matches", (label, source) => {
    const expected = new RegExp(source, "isu");
    let matched = 0;
    fc.assert(
      fc.property(textsFor(source), (text) => {
        const isExpected = expected.test(foldedPlainly(text));
        matched += Number(isExpected);
        expect(labels(all.scanTexts([user(text)])).includes(label)).toBe(isExpected);
      }),
      { numRuns: 400 },
    );
    expect(matched).toBeGreaterThan(10);
  });

  it("answers no other labels than those of the rules", () => {
    const known = Object.keys(INJECTION);
    const text = Object.values(INJECTION)
      .map((source) =>
        source
          .split(/\.\{0,\d+\}/)
          .map((part) => simplest(part.replace(/\\b/g, ""), 0))
          .join(" "),
      )
      .join("\n");
    expect(labels(all.scanTexts([user(text)]))).toEqual(known);
  });
});

/** A text that a part of a pattern matches: its first alternatives, with (1) or without (0) the optional parts. */
function simplest(part: string, optional: 0 | 1): string {
  let text = part.replace(/^\(\?:\^\|\\n\)/, "");
  const inner = /\(\?:([^()]*)\)(\??)/;
  for (let found = inner.exec(text); found !== null; found = inner.exec(text)) {
    const [first = ""] = (found[1] ?? "").split("|");
    text = text.replace(found[0], () => (found?.[2] === "?" && optional === 0 ? "" : first));
  }
  return text
    .replace(/\[ -\]\?/g, " ")
    .replace(/\[ \\t\]\*/g, optional === 0 ? "" : " ")
    .replace(/\\s\*/g, optional === 0 ? "" : "\n ")
    .replace(/#\{2,\}/g, "##")
    .replace(/\\?(.)\?/g, (_, character: string) => (optional === 0 ? "" : character))
    .replace(/\\([[|\]])/g, "$1")
    .split(/\|(?!>|im_|system)/)[0] as string;
}
